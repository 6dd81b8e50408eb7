"""A reader of committed records that follows a topic while it is written, in a thread of its own and without a group.

It keeps its place itself: what it was given twice it has twice.
"""

from __future__ import annotations

import threading
from contextlib import closing
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, TopicPartition

from peer.topics import place_of

Found = dict[int, list[str]]
"""The values of each partition in the order in which they were read."""


class CommittedReader(threading.Thread):
    """Reads from the beginning between ``with`` and its end. ``count``: how many records were read."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(name="reader", daemon=True)
        self.found: Found = {number: [] for number in range(partitions)}
        self.errors: list[str] = []
        self.count = 0
        self._topic = topic
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        self._enough = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._enough.set()
        self.join()

    def has_read(self, count: int) -> bool:
        return self.count >= count

    def run(self) -> None:
        with closing(Consumer(self._settings)) as reader:
            reader.assign([TopicPartition(self._topic, number, 0) for number in self.found])
            while not self._enough.is_set():
                for message in reader.consume(1_000, 0.1):
                    if message.error() is not None:
                        self.errors.append(f"the reader that followed was answered {message.error()}")
                    else:
                        self.found[place_of(message)[0]].append((message.value() or b"").decode())
                        self.count += 1
