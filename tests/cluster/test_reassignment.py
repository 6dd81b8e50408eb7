"""Four brokers, and a topic that moves off one of them under load with acks=all: no acknowledged record is lost or
doubled, and removed replicas are deleted (KIP-455, H16). Apache Kafka's kafka-reassign-partitions
drives the move."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from cluster.cluster import Cluster
from cluster.stores import ON_SQLITE, ON_ZOOKEEPER
from crash.load import Load, assert_all_are_read_back
from parity.raw_client import RawClient
from peer.broker_process import hang, wait_until
from peer.java_tools import JavaTools
from peer.kafkastore_broker import KafkastoreBroker

TOPIC = "orders"
PARTITIONS = 3
LIMIT_S = 60.0


@pytest.fixture(params=ON_SQLITE)
def four(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FourBrokers]:
    with Cluster(tmp_path, request.param, size=4).running() as made:
        yield FourBrokers(made)


class FourBrokers:
    """The controller, the broker ``old`` whose replicas move away, the broker ``new`` that takes them, and ``other``.
    Before the move the topic is on all brokers but ``new``."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.controller = cluster.controller()
        self.old, self.new, self.other = (node for node in range(1, 5) if node != self.controller)
        before = [self.controller, self.old, self.other]
        self.assignment = [before[number:] + before[:number] for number in range(PARTITIONS)]
        topic = NewTopic(TOPIC, PARTITIONS, replica_assignment=self.assignment)
        admin = cluster.admin()  # kept: its requests end with its last reference
        admin.create_topics([topic], operation_timeout=20)[TOPIC].result(30)
        self.target = [[self.new if node == self.old else node for node in replicas] for replicas in self.assignment]

    def ask(self, api: str, version: int, broker: KafkastoreBroker, **given: Any) -> Any:
        with closing(RawClient("127.0.0.1", broker.port)) as client:
            return client.ask(api, version, given)

    def begin(self) -> None:
        """Begins the move by the protocol alone, because tools also ask other brokers."""
        asked = [{"partition_index": number, "replicas": replicas} for number, replicas in enumerate(self.target)]
        topics = [{"name": TOPIC, "partitions": asked}]
        answer = self.ask(
            "alter_partition_reassignments", 1, self.cluster.broker(self.controller), topics=topics, timeout_ms=10_000
        )
        assert {one.error_code for one in answer.responses[0].partitions} == {0}

    def run(self, java: JavaTools, *args: str) -> str:
        """Runs kafka-reassign-partitions with the address of a broker that does not hang."""
        bootstrap = self.cluster.broker(self.controller).bootstrap
        result = java.tool("kafka-reassign-partitions", "--bootstrap-server", bootstrap, *args)
        assert result.exit == 0, result
        return result.out

    def plan(self, folder: Path, assignment: Sequence[Sequence[int]]) -> str:
        """A file for kafka-reassign-partitions."""
        partitions = [
            {"topic": TOPIC, "partition": number, "replicas": replicas} for number, replicas in enumerate(assignment)
        ]
        path = folder / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(path)

    def replicas(self) -> list[list[int]]:
        found = self.cluster.admin().list_topics(TOPIC, timeout=10).topics[TOPIC].partitions
        return [found[number].replicas for number in range(PARTITIONS)]

    def directories(self, node: int) -> list[str]:
        """The topic's directories on the broker, without directories renamed to ``-delete``, whose files are deleted
        log.segment.delete.delay.ms later."""
        return sorted(path.name for path in self.cluster.broker(node).log_dir.glob(f"{TOPIC}-[0-9]"))

    def assert_settled(self, assignment: list[list[int]], without: int, *, in_order: bool = True) -> None:
        """Waits until the replicas are those of ``assignment``, in sync and equal, and until the broker ``without`` has
        deleted its replicas. A move that was cancelled leaves their order open."""

        def are_those() -> bool:
            found = self.replicas()
            return found == assignment if in_order else list(map(sorted, found)) == list(map(sorted, assignment))

        wait_until(are_those, LIMIT_S, f"the replicas are {assignment}")
        self.cluster.wait_in_sync(TOPIC, 3)
        wait_until(lambda: not self.directories(without), LIMIT_S, f"broker {without} has deleted its replicas")
        for number in range(PARTITIONS):
            wait_until(partial(self._are_equal, number), 20, f"the replicas of {number} are equal")

    def _are_equal(self, number: int) -> bool:
        held = [found for found in self.cluster.log_bytes(TOPIC, number) if found]
        return len(held) == 3 and len(set(held)) == 1


def assert_nothing_is_lost_or_doubled(cluster: Cluster, load: Load) -> None:
    values = assert_all_are_read_back(cluster, TOPIC, [load])  # type: ignore[arg-type]
    for number, of_partition in values.items():
        assert len(set(of_partition)) == len(of_partition), f"partition {number} has a record twice"


def start_load(cluster: Cluster) -> Load:
    load = Load(cluster, TOPIC, "load", PARTITIONS, enable_idempotence=True)  # type: ignore[arg-type]
    load.run_until_acknowledged(1000)
    return load


def test_topic_moves_off_a_broker_under_load(four: FourBrokers, java: JavaTools, tmp_path: Path) -> None:
    cluster = four.cluster
    plan = four.plan(tmp_path, four.target)
    load = start_load(cluster)
    printed = four.run(java, "--reassignment-json-file", plan, "--execute")
    assert "Successfully started partition reassignments" in printed
    assert json.loads(next(line for line in printed.splitlines() if line.startswith("{")))["partitions"]
    load.run_until_acknowledged(2000)
    wait_until(lambda: "No partition reassignments found." in four.run(java, "--list"), LIMIT_S, "it is done")
    load.run_until_acknowledged(500)
    load.finish()
    verified = four.run(java, "--reassignment-json-file", plan, "--verify")
    assert verified.count("is completed.") == PARTITIONS, verified
    assert_nothing_is_lost_or_doubled(cluster, load)
    four.assert_settled(four.target, without=four.old)


def test_move_to_a_broker_that_hangs_is_listed_and_cancelled(  # KIP-455
    four: FourBrokers, java: JavaTools, tmp_path: Path
) -> None:
    cluster = four.cluster
    load = start_load(cluster)
    hang(cluster.broker(four.new).pid)
    four.begin()
    load.run_until_acknowledged(500)
    cluster.wait_for_brokers(3)
    assert f"adding: {four.new}. removing: {four.old}." in four.run(java, "--list")
    plan = four.plan(tmp_path, four.target)
    # throttles would be cleared on the broker that hangs, too
    cancelled = four.run(java, "--reassignment-json-file", plan, "--cancel", "--preserve-throttles")
    assert "Successfully cancelled partition reassignments" in cancelled
    assert "No partition reassignments found." in four.run(java, "--list")
    os.kill(cluster.broker(four.new).pid, signal.SIGCONT)
    load.run_until_acknowledged(500)
    load.finish()
    cluster.wait_for_brokers(4)
    assert_nothing_is_lost_or_doubled(cluster, load)
    four.assert_settled(four.assignment, without=four.new, in_order=False)


@pytest.mark.parametrize("four", ON_ZOOKEEPER, indirect=True)  # the next controller comes by its session
def test_next_controller_completes_the_moves_of_a_killed_one(four: FourBrokers) -> None:  # H16
    cluster = four.cluster
    load = start_load(cluster)
    hang(cluster.broker(four.new).pid)
    four.begin()
    cluster.broker(four.controller).kill()
    load.run_until_acknowledged(500)
    os.kill(cluster.broker(four.new).pid, signal.SIGCONT)
    cluster.broker(four.controller).start()
    load.run_until_acknowledged(500)
    load.finish()
    four.assert_settled(four.target, without=four.old)
    assert_nothing_is_lost_or_doubled(cluster, load)
