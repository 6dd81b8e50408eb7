"""A writer that knows of each record where it went: it chooses the partitions itself, as Kafka's partitioner does, so
that what a broker says of a batch is said of its records."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from kafkastore.admin.admin_client import AdminClient, KafkaError
from kafkastore.consuming.readers import Topics
from kafkastore.errors import ErrorCode
from kafkastore.producing.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kafkastore._core import Delivery
    from kafkastore.producing.writer import Row

    Settled = Callable[[Any, Delivery, int], None]

SEED: Final = 0x9747B28C
MULTIPLIER: Final = 0x5BD1E995
MASK: Final = 0xFFFFFFFF
TRIES: Final = 50
TRY_S: Final = 0.1


class TrackedWriter(Writer):
    """See the module. ``settled(mark, delivery, offset)`` is called for each record, with the mark that it was sent
    with; the offset is -1 where there is none."""

    def __init__(self, properties: Mapping[str, str], settled: Settled) -> None:
        super().__init__(properties, self._settle)
        self._properties = dict(properties)
        self._settled = settled
        self._marks: dict[tuple[str, int], deque[Any]] = {}
        self._counts: dict[str, int] = {}
        self._turn = 0

    def send_marked(self, topic: str, rows: Sequence[Row], marks: Sequence[Any]) -> None:
        """Sends rows, each with its mark. Raises WriteError, and KafkaError for a topic that there is not."""
        count = self._partitions(topic)
        placed: list[Row] = []
        for (key, value, headers, partition, timestamp), mark in zip(rows, marks, strict=True):
            number = self._place(key, count) if partition is None else partition
            placed.append((key, value, headers, number, timestamp))
            self._marks.setdefault((topic, number), deque()).append(mark)
        self._turn += 1
        self.send(topic, placed)

    def _place(self, key: bytes | None, count: int) -> int:
        return self._turn % count if key is None else (murmur2(key) & 0x7FFFFFFF) % count

    def _partitions(self, topic: str) -> int:
        if topic not in self._counts:
            self._counts[topic] = asyncio.run(self._look(topic))
        return self._counts[topic]

    async def _look(self, topic: str) -> int:
        async with AdminClient(self._properties["bootstrap.servers"], self._properties).within() as client:
            for _ in range(TRIES):
                found = await Topics((topic,)).partitions(client, creates=True)
                if topic in found:
                    return found[topic]
                await asyncio.sleep(TRY_S)
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}; make it first")

    def _settle(self, delivery: Delivery) -> None:
        marks = self._marks.get((delivery.topic, delivery.partition))
        if marks is None:  # of records that came into no batch the partition is not said
            marks = next((waiting for (topic, _), waiting in self._marks.items() if topic == delivery.topic), deque())
        for number in range(min(delivery.count, len(marks))):
            is_placed = delivery.error is None and delivery.base_offset >= 0
            self._settled(marks.popleft(), delivery, delivery.base_offset + number if is_placed else -1)


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key."""
    value = SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * MULTIPLIER & MASK
        part = (part ^ part >> 24) * MULTIPLIER & MASK
        value = (value * MULTIPLIER & MASK) ^ part
    rest = data[whole:]
    if rest:
        value = (value ^ int.from_bytes(rest, "little")) * MULTIPLIER & MASK
    value = (value ^ value >> 13) * MULTIPLIER & MASK
    return value ^ value >> 15
