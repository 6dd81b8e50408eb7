"""Scans beside a broker with committed, aborted, open and hanging transactions: the rows are exactly what a consumer
reads at that moment under the same isolation level, and the count from batch headers is their number.
"""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pytest
from confluent_kafka import Producer

import kafkastore
from clients.test_kafka_transactions import hang, open_transaction
from kafkastore.scanning.bounds import COLUMNS
from kafkastore.scanning.broker_offsets import fetch_broker_offsets
from peer.broker_process import wait_until
from peer.topics import create_topic, end_offsets, last_stable_offsets, place_of, read_topic
from scan.rows import Row, assert_rows, rows_of
from scan.transactional_log import (
    LEVELS,
    LIMIT_S,
    PARTITIONS,
    SETTINGS,
    SMALL_SEGMENTS,
    abort_hanging,
    end,
    producer,
    rows_read,
    send,
    write_ended_transactions,
    write_wide_transactions,
)

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

TOPIC = "orders"
WRITERS = 3
SCANS = 40
SEED = 15
CHECKPOINT_SOON = {"replica.high.watermark.checkpoint.interval.ms": "100"}
"""So that scans by the files alone see the records of the test."""

Expected = dict[str, list[Row]]


@pytest.fixture
def broker(broker_factory: BrokerFactory) -> BrokerProcess:
    """With topic TOPIC, all of whose transactions have ended."""
    made = broker_factory(SETTINGS, kind="kafkastore")
    write_ended_transactions(made.bootstrap, TOPIC)
    return made


def read_by_consumers(broker: BrokerProcess) -> Expected:
    """Under each level; the two differ, or a comparison would prove nothing."""
    expected = {level: rows_read(broker.bootstrap, TOPIC, level) for level in LEVELS}
    assert len(expected["read_committed"]) < len(expected["read_uncommitted"])
    return expected


def assert_scans_equal(expected: Expected, log_dir: Path, state: str, bootstrap: str | None = None) -> None:
    """Rows, also of shares, and counts."""
    for level, rows in expected.items():
        for threads in (1, 3):
            scan = kafkastore.scan(
                log_dir, TOPIC, columns=COLUMNS, isolation_level=level, bootstrap_servers=bootstrap, threads=threads
            )
            what = f"{state}, {level}, {threads} threads"
            assert_rows(rows_of(scan), rows, what)
            assert scan.count() == len(rows), what
        shares = scan.splits(5)
        assert_rows([row for share in shares for row in rows_of(share)], rows, f"{what}, in shares")


def assert_scans_equal_consumers(broker: BrokerProcess, state: str) -> Expected:
    expected = read_by_consumers(broker)
    assert_scans_equal(expected, broker.log_dir, state, broker.bootstrap)
    return expected


def stable_offset(broker: BrokerProcess) -> tuple[int, int]:
    """The last stable offset and the high watermark of partition 0."""
    return last_stable_offsets(broker.bootstrap, TOPIC)[0], end_offsets(broker.bootstrap, TOPIC)[0][1]


def test_scan_equals_consumers_after_ended_transactions_of_all_codecs_and_after_restarts(broker: BrokerProcess) -> None:
    write_wide_transactions(broker.bootstrap, TOPIC)
    assert len(list((broker.log_dir / f"{TOPIC}-0").glob("*.log"))) > 2, "the aborted transaction has several segments"
    expected = assert_scans_equal_consumers(broker, "live")
    assert broker.stop() == 0
    assert_scans_equal(expected, broker.log_dir, "stopped")
    broker.start()
    assert_scans_equal(expected, broker.log_dir, "started again", broker.bootstrap)
    broker.kill()
    broker.start()
    assert read_by_consumers(broker) == expected
    assert_scans_equal(expected, broker.log_dir, "started after a kill", broker.bootstrap)


def test_scan_ends_before_the_first_open_transaction_until_its_marker(broker: BrokerProcess) -> None:
    opened = open_transaction(broker, TOPIC, "open")
    first, _ = stable_offset(broker)
    write_wide_transactions(broker.bootstrap, TOPIC)  # beyond it, and not seen before its marker
    before = assert_scans_equal_consumers(broker, "open")
    assert stable_offset(broker)[0] == first
    broker.restart()
    assert read_by_consumers(broker) == before
    assert_scans_equal(before, broker.log_dir, "open, started again", broker.bootstrap)
    opened.commit_transaction(LIMIT_S)
    wait_until(lambda: len(set(stable_offset(broker))) == 1, LIMIT_S, "the marker is written")
    after = assert_scans_equal_consumers(broker, "committed")
    assert len(after["read_committed"]) > len(before["read_committed"]) + 1
    assert broker.stop() == 0
    assert_scans_equal(after, broker.log_dir, "committed, stopped")


def test_scan_ends_before_a_hanging_transaction_until_it_is_aborted(broker: BrokerProcess) -> None:
    hang(broker, TOPIC)
    first, _ = stable_offset(broker)
    write_wide_transactions(broker.bootstrap, TOPIC)
    before = assert_scans_equal_consumers(broker, "hanging")
    assert stable_offset(broker)[0] == first
    assert broker.stop() == 0
    assert_scans_equal(before, broker.log_dir, "hanging, stopped")
    broker.start()
    assert_scans_equal(before, broker.log_dir, "hanging, started again", broker.bootstrap)
    abort_hanging(broker, TOPIC)
    after = assert_scans_equal_consumers(broker, "aborted")
    assert stable_offset(broker) == (end_offsets(broker.bootstrap, TOPIC)[0][1],) * 2
    assert len(after["read_committed"]) > len(before["read_committed"])


def test_partition_moved_to_a_broker_without_its_coordinator_is_read_to_its_open_transaction(
    broker: BrokerProcess, broker_factory: BrokerFactory
) -> None:
    """A log directory copied beside the running broker: its transactions hang in the new broker."""
    opened = open_transaction(broker, TOPIC, "open")
    send(opened, TOPIC, 20)
    write_wide_transactions(broker.bootstrap, TOPIC)
    expected = read_by_consumers(broker)
    second = broker_factory(SETTINGS, kind="kafkastore", start=False)
    for number in range(PARTITIONS):
        copied = second.log_dir / f"{TOPIC}-{number}"
        copied.mkdir(parents=True)
        for file in (broker.log_dir / copied.name).iterdir():
            if file.suffix == ".log" or file.name in ("partition.metadata", "leader-epoch-checkpoint"):
                (copied / file.name).write_bytes(file.read_bytes())
    opened.abort_transaction(LIMIT_S)
    broker.stop()
    second.start()
    assert read_by_consumers(second) == expected
    assert_scans_equal(expected, second.log_dir, "moved", second.bootstrap)


def test_transaction_index_that_was_deleted_is_built_again_at_the_next_start(broker: BrokerProcess) -> None:
    write_wide_transactions(broker.bootstrap, TOPIC)
    write_wide_transactions(broker.bootstrap, TOPIC)
    expected = read_by_consumers(broker)
    assert broker.stop() == 0
    indexes = {path: path.read_bytes() for path in broker.log_dir.glob(f"{TOPIC}-*/*.txnindex")}
    assert len([path for path, content in indexes.items() if content]) > 3
    for path in indexes:
        path.unlink()
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (broker.log_dir / name).unlink()
    broker.start()
    assert read_by_consumers(broker) == expected
    assert_scans_equal(expected, broker.log_dir, "index built again", broker.bootstrap)
    assert broker.stop() == 0  # the active segment's index is in memory until then
    assert {path: path.read_bytes() for path in indexes} == indexes
    assert_scans_equal(expected, broker.log_dir, "index built again, stopped")


# ---- while the writers go on
class Writers:
    """Transactional producers in threads; each transaction is committed or aborted by lot, some stay open for a
    while."""

    def __init__(self, bootstrap: str) -> None:
        self.transactions = 0
        self.failures: list[BaseException] = []
        self._stopping = threading.Event()
        self._producers = [producer(bootstrap, f"writer-{number}") for number in range(WRITERS)]
        self._threads = [threading.Thread(target=self._run, args=(one,)) for one in enumerate(self._producers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, transactions: int) -> None:
        wait_until(lambda: self.failures or self.transactions >= transactions, LIMIT_S, "transactions end")

    def _run(self, numbered: tuple[int, Producer]) -> None:
        number, sender = numbered
        lots = random.Random(SEED + number)
        try:
            while not self._stopping.is_set():
                sender.begin_transaction()
                for _ in range(lots.randint(1, 4)):
                    send(sender, TOPIC, lots.randint(1, 30), 2000)
                self._stopping.wait(lots.choice([0, 0, 0.05]))
                end(sender, commits=lots.random() < 0.6)
                self.transactions += 1
        except BaseException as error:
            self.failures.append(error)
            raise


@dataclass(frozen=True)
class Seen:
    """A scan beside the writers, read at once."""

    level: str
    ends: dict[int, int]
    found: list[tuple[int, int, bytes | None]]


def scan_now(broker: BrokerProcess, level: str, *, is_asked: bool) -> Seen:
    """With the broker's offsets or by the files alone; its ends are not beyond what consumers may read."""
    bootstrap = broker.bootstrap if is_asked else None
    before = fetch_broker_offsets(broker.bootstrap, TOPIC)
    scan = kafkastore.scan(broker.log_dir, TOPIC, isolation_level=level, bootstrap_servers=bootstrap)
    after = fetch_broker_offsets(broker.bootstrap, TOPIC)
    ends = {one.partition: one.end_offset for one in scan.partitions()}
    field = "last_stable_offset" if level == "read_committed" else "high_watermark"
    for partition, found in ends.items():
        assert found <= getattr(after[partition], field)
    for partition, offsets in before.items():  # one without records may not be in the files yet
        assert not is_asked or ends.get(partition, 0) >= getattr(offsets, field)
    table = pa.table(scan)
    assert scan.count() == table.num_rows
    columns = [table[name].to_pylist() for name in ("partition", "offset", "value")]
    return Seen(level, ends, list(zip(*columns, strict=True)))


@pytest.mark.filterwarnings("ignore:.*left out:RuntimeWarning")  # the first may come before the first checkpoint
def test_scans_beside_writers_of_transactions_are_exact(broker_factory: BrokerFactory, summary: list[str]) -> None:
    broker = broker_factory({**SETTINGS, **CHECKPOINT_SOON}, kind="kafkastore")
    create_topic(broker.bootstrap, TOPIC, PARTITIONS, SMALL_SEGMENTS)
    seen = []
    with Writers(broker.bootstrap) as writers:
        for number in range(SCANS):
            writers.wait_for(3 * number)
            seen.append(scan_now(broker, LEVELS[number % 2], is_asked=number % 4 < 2))
    assert writers.failures == []
    final: dict[str, list[Any]] = {}
    for level in LEVELS:
        messages = read_topic(broker.bootstrap, TOPIC, isolation_level=level)
        final[level] = sorted((*place_of(message), message.value()) for message in messages)
    for number, one in enumerate(seen):
        expected = [row for row in final[one.level] if row[1] < one.ends.get(row[0], 0)]
        assert one.found == expected, f"scan {number}, {one.level}: {len(one.found)} rows of {len(expected)}"
    assert all(len(one.ends) == PARTITIONS for one in seen[-8:])
    assert all(one.found for one in seen[-8:]), "the last scans saw something, by the broker and by the files alone"
    assert len(final["read_committed"]) < len(final["read_uncommitted"])
    rows = sum(len(one.found) for one in seen)
    summary.append(f"{SCANS} scans beside {writers.transactions} transactions: {rows:,} rows")
