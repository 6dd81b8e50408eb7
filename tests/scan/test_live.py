"""Beside a live broker that appends, rolls and deletes: a scan's rows are exactly the records of the range it was
planned with.
"""

from __future__ import annotations

import json
import os
import pickle
import threading
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pytest
from confluent_kafka import Message, Producer

import kafkastore
from kafkastore import _core
from kafkastore.scanning.broker_offsets import fetch_broker_offsets
from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until
from peer.topics import create_topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from peer.broker_process import BrokerProcess

PARTITIONS = 2
SCANS = 100
BEHIND = 20
"""Scans that wait between their plan and their reading, so that segments of theirs are deleted meanwhile."""
RATE = 2000
SCANS_PER_SECOND = 8
VALUE_BYTES = 600
BROKER = {
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "0",
    "log.initial.task.delay.ms": "100",
}
TOPIC = {"segment.bytes": "1048576", "segment.ms": "700", "retention.ms": "1500", "index.interval.bytes": "2048"}


def value_of(partition: int, offset: int) -> bytes:
    return b"%d:%d " % (partition, offset) + b"." * VALUE_BYTES


class Load:
    """Produces without end; the n-th record of a partition says so, and an idempotent producer makes it the n-th
    offset."""

    def __init__(self, bootstrap: str) -> None:
        self.acknowledged = dict.fromkeys(range(PARTITIONS), 0)
        self.failures: list[str] = []
        self._stopping = threading.Event()
        settings = {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 5,
            "compression.type": "none",
        }
        self._producer = Producer(settings)
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def total(self) -> int:
        """Records acknowledged so far."""
        return sum(self.acknowledged.values())

    def wait_for(self, total: int) -> None:
        wait_until(lambda: self.total() >= total, 30, "the log grows")

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.01):
            for _ in range(RATE // 100):
                partition, offset = number % PARTITIONS, number // PARTITIONS
                self._producer.produce("live", value_of(partition, offset), partition=partition, on_delivery=self._done)
                number += 1
            self._producer.poll(0)
        self._producer.flush(30)

    def _done(self, error: object, message: Message) -> None:
        partition, offset = message.partition(), message.offset()
        value = message.value()
        if error is not None or partition is None or offset is None or value != value_of(partition, offset):
            self.failures.append(f"{error}: {partition} {offset}")
        else:
            self.acknowledged[partition] = offset + 1


@pytest.fixture
def live(tmp_path: Path) -> Iterator[tuple[BrokerProcess, Load]]:
    """A broker that deletes what is older than a second and a half, and a producer writing to it."""
    factory = BrokerFactory("kafkastore", tmp_path)
    broker = factory(BROKER)
    create_topic(broker.bootstrap, "live", PARTITIONS, TOPIC)
    with Load(broker.bootstrap) as load:
        wait_until(
            lambda: all(one.log_start_offset > 0 for one in fetch_broker_offsets(broker.bootstrap, "live").values()),
            30,
            "the first segments are deleted",
        )
        yield broker, load
    assert not load.failures
    factory.close()


def places(stream: Any) -> list[tuple[int, int]]:
    """(partition, offset) of each row, whose value must be that record's."""
    table = pa.table(stream)
    found = list(zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True))
    for (partition, offset), value in zip(found, table["value"].to_pylist(), strict=True):
        assert value == value_of(partition, offset)
    return found


def planned(scan: kafkastore.Scan) -> list[tuple[int, int]]:
    return [(one.partition, offset) for one in scan.partitions() for offset in range(one.start_offset, one.end_offset)]


def open_files() -> set[str]:
    return {os.readlink(f"/proc/self/fd/{one}") for one in os.listdir("/proc/self/fd") if _is_open(one)}


def _is_open(descriptor: str) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore:.*left out:RuntimeWarning")  # the first may come before the first checkpoint
def test_a_hundred_scans_are_exact_while_the_broker_rolls_and_deletes(
    live: tuple[BrokerProcess, Load], summary: list[str]
) -> None:
    broker, load = live
    waiting: deque[tuple[kafkastore.Scan, list[str]]] = deque()
    rows = deleted_meanwhile = 0

    def read(scan: kafkastore.Scan, files: list[str]) -> None:
        nonlocal rows, deleted_meanwhile
        found = places(scan)
        assert found == planned(scan)
        assert scan.count() == len(found)
        assert scan.lost == []
        rows += len(found)
        deleted_meanwhile += any(not Path(file).exists() for file in files)

    begun = load.total()
    for number in range(SCANS):
        wanted = begun + number * RATE // SCANS_PER_SECOND
        load.wait_for(wanted)
        acknowledged = dict(load.acknowledged)
        before = fetch_broker_offsets(broker.bootstrap, "live")
        bootstrap = broker.bootstrap if number % 2 else None
        scan = kafkastore.scan(broker.log_dir, "live", bootstrap_servers=bootstrap, threads=1 + number % 3)
        after = fetch_broker_offsets(broker.bootstrap, "live")
        for one in scan.partitions():
            earlier, later = before[one.partition], after[one.partition]
            assert one.end_offset <= later.high_watermark
            if bootstrap is not None:  # the files alone know neither exactly
                assert earlier.log_start_offset <= one.start_offset <= later.log_start_offset
                assert one.end_offset >= max(acknowledged[one.partition], earlier.high_watermark)
        waiting.append((scan, [slice_["path"] for slice_ in slices_of(scan)]))
        del scan
        if len(waiting) > BEHIND:
            read(*waiting.popleft())
    while waiting:
        read(*waiting.popleft())
    assert deleted_meanwhile > SCANS // 2, "too little was deleted under the scans to prove anything"
    assert rows > 0
    assert not [name for name in open_files() if name.startswith(str(broker.log_dir))], "files stay open"
    assert_nothing_left(broker)
    summary.append(
        f"{SCANS} scans beside a broker that deletes: {rows:,} rows, {deleted_meanwhile} outlived their files"
    )


def slices_of(scan: kafkastore.Scan) -> list[dict[str, Any]]:
    return [one for share in scan.splits(1) for split in share.splits for one in json.loads(split.encode())["slices"]]


def assert_nothing_left(broker: BrokerProcess) -> None:
    """No links: the directories hold what the broker made."""
    assert not list(broker.folder.rglob("*scan*"))
    links = [path for path in broker.log_dir.rglob("*.log") if path.exists() and path.stat().st_nlink > 1]
    assert links == []


@pytest.mark.timeout(120)
def test_shares_read_too_late_report_exactly_what_is_gone(live: tuple[BrokerProcess, Load]) -> None:
    """Shares hold no open files: deleted segments are a loss, an error or a report as asked; rows and loss make the
    range."""
    broker, _ = live
    scan = kafkastore.scan(broker.log_dir, "live", bootstrap_servers=broker.bootstrap)
    shares = pickle.loads(pickle.dumps(scan.splits(4)))
    split = shares[0].splits[0]
    wait_until(
        lambda: not any(Path(one["path"]).exists() for one in slices_of(scan)), 30, "the planned segments are deleted"
    )
    with pytest.raises((_core.DataLossError, pa.ArrowException, OSError), match=r"live-0: offsets \d+ to \d+ are lost"):
        pa.table(shares[0])
    lenient = _core.Scan(
        [one for share in shares for one in share.splits], ["partition", "offset", "value"], fail_on_data_loss=False
    )
    found = places(lenient)
    lost = [(partition, offset) for _, partition, start, end in lenient.lost for offset in range(start, end)]
    assert sorted(found + lost) == planned(scan)
    assert (split.partition, split.start_offset) in lost
    assert places(scan) == planned(scan), "the scan itself holds its files"
