"""On Spark standalone with two workers, each in a network and a mount namespace, beside three brokers: a task reads the
files that its own machine sees, and everything else over the network (docs/spark-clusters.md, "Several brokers").

`spark.standalone` has the hosts, and which directories each of them sees. Needs root.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cluster.faults import private_machine
from spark.driver import TESTS
from spark.standalone_job import COMPACTED, COPIED, DIVERGED, ONCE, SPREAD

RECORDS = 1200
"""In each of the topics, a third of them in each partition."""
STOP_LIMIT_S = 60


class Read(NamedTuple):
    """A read of Spark, and which brokers it has fetched from."""

    plan: str
    rows: list[list[Any]]
    """(topic, partition, offset, fingerprint) in order."""
    hosts: dict[int, set[str]]
    """By partition: the hosts whose tasks read it."""
    fetched: dict[int, int]
    """By broker: the bytes that were fetched for the read; only brokers that served some."""


class Machine:
    """`spark.standalone_job`, a process that is asked."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "driver.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "spark.standalone_job", str(folder)],
                env=os.environ | {"PYTHONPATH": str(TESTS)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self.facts: dict[str, Any] = self._answer()
            self._fetched = self._fetched_so_far()
        except BaseException:
            self.close()
            raise

    def ask(self, what: str, **arguments: object) -> Any:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"ask": what, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
            return self._answer()
        except BaseException:  # an answer that comes later is none to the next question
            self.close()
            raise

    def read(self, path: str | None, topics: dict[str, list[int]], **options: object) -> Read:
        """Reads partitions of topics."""
        given = {"assign": json.dumps(topics), **{name: str(value) for name, value in options.items()}}
        answer = self.ask("read", options=given if path is None else {"path": path, **given})
        hosts = defaultdict(set)
        for host, _, partition, _, _ in answer["rows"]:
            hosts[partition].add(host)
        return Read(answer["plan"], sorted(row[1:] for row in answer["rows"]), dict(hosts), self._newly_fetched())

    def count(self, path: str, topic: str) -> tuple[int, dict[int, int]]:
        """The records of a topic, and what was fetched to count them."""
        count: int = self.ask("count", options={"path": path, "subscribe": topic})
        return count, self._newly_fetched()

    def consumed(self, topics: dict[str, list[int]]) -> list[list[Any]]:
        """The rows of a plain consumer."""
        rows = [row for topic, numbers in topics.items() for row in self.facts["consumed"][topic] if row[1] in numbers]
        return sorted(rows)

    def close(self) -> None:
        """Ends the driver, and with it the private machine that has all other processes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if not self._process.stdin.closed:
            try:
                self._process.communicate(timeout=STOP_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the driver ended:\n{self._log.read_text(errors='replace')[-6000:]}"
        return json.loads(line)

    def _newly_fetched(self) -> dict[int, int]:
        before = self._fetched
        self._fetched = after = self._fetched_so_far()
        return {node: after[node] - before[node] for node in after if after[node] > before[node]}

    def _fetched_so_far(self) -> dict[int, int]:
        return {int(node): size for node, size in self.ask("fetched").items()}


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    try:
        private_machine.check()
    except private_machine.MachineError as error:
        pytest.skip(str(error))
    started = Machine(tmp_path_factory.mktemp("standalone"))
    yield started
    started.close()


@pytest.fixture(params=["template", "seen"])
def path(request: pytest.FixtureRequest, machine: Machine) -> str:
    """Directories of which the driver sees all, or none; each worker sees the one of its broker."""
    return str(machine.facts[request.param])


def way(path: str) -> str:
    """As the driver plans it."""
    return "network" if "/seen/" in path else "files"


def test_each_worker_sees_the_files_of_one_broker(machine: Machine) -> None:
    """What the other tests are built on. The second number: whose files are under the path that all have."""
    assert machine.ask("look") == {"one": [1, 1], "two": [2, 2]}


def test_rows_are_those_of_a_consumer_whatever_each_machine_sees(machine: Machine, path: str) -> None:
    topics = {SPREAD: [0, 1, 2], COPIED: [0, 1, 2]}
    read = machine.read(path, topics, minPartitions=12)
    assert read.rows == machine.consumed(topics)
    assert len(read.rows) == 2 * RECORDS
    assert set.union(*read.hosts.values()) == {"one", "two"}
    for topic in topics:
        for partition in range(3):
            assert f"{topic}-{partition} [0, 400) {way(path)}" in read.plan
    assert 3 in read.fetched, "broker 3 was not asked, and no worker sees its files"


def test_a_count_fetches_nothing_if_the_driver_sees_all_files(machine: Machine) -> None:
    assert machine.count(machine.facts["template"], SPREAD) == (RECORDS, {})
    count, fetched = machine.count(machine.facts["seen"], SPREAD)
    assert count == RECORDS
    assert 3 in fetched


def test_a_task_runs_where_files_are_and_reads_them_there(machine: Machine, path: str) -> None:
    for partition, host in ((0, "one"), (1, "two")):
        read = machine.read(path, {SPREAD: [partition]})
        assert read.rows == machine.consumed({SPREAD: [partition]})
        assert read.hosts == {partition: {host}}
        assert read.fetched == {}, "the records came over the network"


def test_a_partition_whose_files_no_worker_sees_comes_from_its_leader(machine: Machine, path: str) -> None:
    read = machine.read(path, {SPREAD: [2]})
    assert f"{SPREAD}-2 [0, 400) {way(path)}" in read.plan
    assert read.rows == machine.consumed({SPREAD: [2]})
    assert read.fetched.keys() == {3}


def test_a_task_on_a_worker_without_the_planned_files_fetches_its_share(machine: Machine, path: str) -> None:
    """More tasks than the worker with the files has cores, so that the other worker gets some."""
    read = machine.read(path, {SPREAD: [0]}, minPartitions=6)
    assert f"{SPREAD}-0 [0, 400) {way(path)}" in read.plan
    assert read.hosts == {0: {"one", "two"}}
    assert read.rows == machine.consumed({SPREAD: [0]})
    assert read.fetched.keys() == {1}


def test_files_of_a_follower_are_as_good_as_those_of_the_leader(machine: Machine, path: str) -> None:
    """Broker 3 leads the partition, broker 1 follows."""
    read = machine.read(path, {COPIED: [2]})
    assert read.hosts == {2: {"one"}}
    assert read.rows == machine.consumed({COPIED: [2]})
    assert read.fetched == {}


def test_workers_with_two_replicas_share_a_partition_without_any_fetch(machine: Machine) -> None:
    read = machine.read(machine.facts["template"], {COPIED: [0]}, minPartitions=6)
    assert read.hosts == {0: {"one", "two"}}
    assert read.rows == machine.consumed({COPIED: [0]})
    assert read.fetched == {}


def test_shares_that_were_cut_by_offsets_are_read_from_files_on_the_tasks_machine(machine: Machine) -> None:
    """The driver sees no batches, so a share may end within one."""
    read = machine.read(machine.facts["seen"], {COPIED: [0]}, minPartitions=6)
    assert read.hosts == {0: {"one", "two"}}
    assert read.rows == machine.consumed({COPIED: [0]})
    assert read.fetched == {}


def test_directories_by_broker_are_those_of_the_template(machine: Machine) -> None:
    by_broker = {node: machine.facts["seen"].replace("{broker.id}", node) for node in ("1", "2")}
    read = machine.read(json.dumps(by_broker), {SPREAD: [1]})
    assert read.hosts == {1: {"two"}}
    assert read.rows == machine.consumed({SPREAD: [1]})
    assert read.fetched == {}
    over_network = machine.read(None, {SPREAD: [1]})
    assert over_network.rows == read.rows
    assert over_network.fetched.keys() == {2}


def test_one_path_for_all_machines_has_other_files_on_each(machine: Machine) -> None:
    topics = {SPREAD: [0, 1, 2], COPIED: [0, 1, 2]}
    read = machine.read(machine.facts["here"], topics, minPartitions=12)
    assert read.rows == machine.consumed(topics)
    assert f"{SPREAD}-0 [0, 400) network" in read.plan  # the driver sees broker 3's
    assert f"{SPREAD}-2 [0, 400) files" in read.plan


def test_no_key_of_a_compacted_log_is_lost_when_each_machine_has_another_replica(machine: Machine) -> None:
    """The driver plans with broker 3's log, which is cleaned; the task reads broker 2's under the same path."""
    read = machine.read(machine.facts["here"], {COMPACTED: [0]})
    assert f"{COMPACTED}-0 [0, 1500) files" in read.plan
    assert read.hosts == {0: {"two"}}
    found = {offset for _, _, offset, _ in read.rows}
    assert set(ONCE) - found == set(), "records of keys that occur once"
    assert set(range(1490, 1500)) - found == set(), "the latest records of the other keys"


@pytest.mark.parametrize("guarantee", ["at-least-once", "exactly-once"])
def test_both_workers_write_and_each_row_is_there_once(machine: Machine, guarantee: str) -> None:
    found = machine.ask("write", topic=guarantee, records=1000, options={"deliveryGuarantee": guarantee})
    assert sorted(number for number, _ in found) == list(range(1000))
    assert {host for _, host in found} == {"one", "two"}


def test_a_bulk_load_runs_on_a_worker_that_sees_the_leaders_directory(machine: Machine) -> None:
    source = {"path": machine.facts["template"], "assign": json.dumps({SPREAD: [0]})}  # so the task runs on one
    loaded = machine.ask("load", topic="loaded", assignment=[[1]], source=source)
    assert loaded == {"error": None, "records": 400, "staged": []}


def test_a_bulk_load_is_refused_where_a_worker_does_not_see_a_leaders_directory(machine: Machine) -> None:
    source = {"path": machine.facts["template"], "assign": json.dumps({SPREAD: [0]})}
    refused = machine.ask("load", topic="refused", assignment=[[1], [2]], source=source)
    assert re.fullmatch(
        r"the log directory of refused-(0 is on broker 1|1 is on broker 2) at 10\.77\.0\.1[12], not on this machine; "
        r"load there, or use a producer",
        refused["error"] or "no error",
    )
    assert (refused["records"], refused["staged"]) == (0, [])


def test_records_that_only_a_dead_broker_has_are_not_read_in_place_of_the_leaders(machine: Machine) -> None:
    """The driver plans with the files of the leader, broker 3; under the same path the worker two has those of broker
    2, which is dead: the last test."""
    consumed = machine.ask("diverge")
    options = {"path": machine.facts["here"], "subscribe": DIVERGED, "minPartitions": "4"}
    answer = machine.ask("read", options=options)
    assert f"{DIVERGED}-0 [0, {len(consumed)}) files" in answer["plan"]
    assert {host for host, *_ in answer["rows"]} == {"one", "two"}
    assert sorted(row[1:] for row in answer["rows"]) == consumed
