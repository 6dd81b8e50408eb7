"""A producer under load whose every acknowledgement is remembered, and the check that all of them can be read back.

A record's value is its producer's name and its number; what was acknowledged is (partition, offset) -> value.
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, Message, Producer

from peer.broker_process import BrokerProcess
from peer.topics import acked_place, place_of, read_topic

FLUSH_LIMIT_S = 60
QUEUE_LIMIT = 2000  # records in flight: enough to have several batches unanswered at the kill


class Load:
    """One librdkafka producer with acks=all that survives restarts of the broker."""

    def __init__(self, broker: BrokerProcess, topic: str, name: str, partitions: int, **config: object) -> None:
        settings = {
            "bootstrap.servers": broker.bootstrap, "acks": "all", "linger.ms": 1, "batch.num.messages": 50,
            "reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 100, "retry.backoff.ms": 20, "log_level": 0,
        }  # fmt: skip
        self.producer = Producer(settings | {key.replace("_", "."): value for key, value in config.items()})
        self.topic = topic
        self.name = name
        self.partitions = partitions
        self.sent = 0
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.unplaced: list[tuple[int, bytes]] = []
        """Acknowledged somewhere in the partition."""
        self.failed: list[KafkaError] = []

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed.append(error)
            return
        partition, offset = acked_place(message)
        if offset is None:
            self.unplaced.append((partition, message.value() or b""))
            return
        place = partition, offset
        assert place not in self.acknowledged, f"offset {place} was acknowledged twice"
        self.acknowledged[place] = message.value() or b""

    def run_until_acknowledged(self, count: int, limit_s: float = 60) -> None:
        """Sends until `count` more records than now are acknowledged, with more of them still in flight."""
        target = len(self.acknowledged) + count
        deadline = time.monotonic() + limit_s
        while len(self.acknowledged) < target and not self.failed:
            assert time.monotonic() < deadline, f"{len(self.acknowledged)} of {target} acknowledged after {limit_s:g} s"
            while len(self.producer) < QUEUE_LIMIT:
                value = f"{self.name}-{self.sent}".encode().ljust(200, b".")
                self.producer.produce(
                    self.topic, value, partition=self.sent % self.partitions, on_delivery=self._delivered
                )
                self.sent += 1
            self.producer.poll(0.005)

    def finish(self) -> None:
        assert self.producer.flush(FLUSH_LIMIT_S) == 0, "records are still unacknowledged"
        assert not self.failed, self.failed[0]


def assert_all_are_read_back(broker: BrokerProcess, topic: str, loads: list[Load]) -> dict[int, list[bytes]]:
    """Every acknowledged record stands at its offset; returns the values of each partition in order."""
    read: dict[tuple[int, int], bytes] = {}
    values: dict[int, list[bytes]] = {}
    for message in read_topic(broker.bootstrap, topic, limit_s=90, check_crcs=True):
        value = message.value() or b""
        read[place_of(message)] = value
        values.setdefault(place_of(message)[0], []).append(value)
    for load in loads:
        lost = {place: value for place, value in load.acknowledged.items() if read.get(place) != value}
        assert not lost, (
            f"{len(lost)} of {len(load.acknowledged)} acknowledged records lost, first {next(iter(lost.items()))}"
        )
        gone = [(partition, value) for partition, value in load.unplaced if value not in values.get(partition, ())]
        assert not gone, f"{len(gone)} acknowledged records lost, first {gone[0]}"
    return values
