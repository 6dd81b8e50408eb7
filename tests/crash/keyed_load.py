"""A load that overwrites the keys of a compacted topic without end, and what must be true of any reading of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Self

import pyarrow as pa
from confluent_kafka import Message, Producer

from kafkastore import Scan
from peer.topics import read_topic

KEYS = 500
RATE = 4000
VALUE_BYTES = 500
SOON = {
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.segment.delete.delay.ms": "0",
    "log.initial.task.delay.ms": "100",
    "log.flush.offset.checkpoint.interval.ms": "200",
}
"""A broker that cleans all the time."""
TOPIC = {"cleanup.policy": "compact", "segment.bytes": "1048576", "segment.ms": "1000", "index.interval.bytes": "2048"}

Row = tuple[int, bytes, bytes]
"""Offset, key and value of a record."""


class KeyedLoad:
    """The n-th record says so in its value; its key is n modulo KEYS. An idempotent producer keeps the order."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged = -1
        """The last record up to which all are acknowledged."""
        self.failures: list[str] = []
        self._topic = topic
        self._stopping = threading.Event()
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._stopping.wait(0.01):
            for _ in range(RATE // 100 if len(self._producer) < RATE else 0):
                value = b"%d " % number + b"." * VALUE_BYTES
                self._producer.produce(self._topic, value, b"%d" % (number % KEYS), 0, on_delivery=self._done)
                number += 1
            self._producer.poll(0)
        self._producer.flush(30)

    def _done(self, error: object, message: Message) -> None:
        number = number_of(message.value())
        if error is not None or number != self.acknowledged + 1:
            self.failures.append(f"record {number}: {error}")
        self.acknowledged = number


def rows_of(scan: Scan) -> list[Row]:
    table = pa.table(scan)
    columns = (table[name].to_pylist() for name in ("offset", "key", "value"))
    return list(zip(*columns, strict=True))


def consumed(bootstrap: str, topic: str) -> list[Row]:
    return [(one.offset() or 0, one.key() or b"", one.value() or b"") for one in read_topic(bootstrap, topic)]


def number_of(value: bytes | None) -> int:
    assert value is not None
    return int(value.split(b" ", 1)[0])


def assert_latest(rows: Iterable[Row], acknowledged: int) -> None:
    """Of each key the last value that was acknowledged before the reading, or a later one; no key's older value behind
    a newer one."""
    last: dict[bytes, int] = {}
    last_offset = -1
    for offset, key, value in rows:
        number = number_of(value)
        assert offset > last_offset, f"offset {offset} behind {last_offset}"
        assert key == b"%d" % (number % KEYS), f"{offset}: the value of another key"
        assert number > last.get(key, -1), f"{offset}: key {key!r} has {number} behind {last.get(key)}"
        last[key], last_offset = number, offset
    for number in range(max(0, acknowledged - KEYS + 1), acknowledged + 1):
        found = last.get(b"%d" % (number % KEYS), -1)
        assert found >= number, f"key {number % KEYS} has the value {found}, {number} was acknowledged"
