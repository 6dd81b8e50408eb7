"""Produces the flights through librdkafka: keyed by carrier, zstd, idempotent, six partitions."""

from __future__ import annotations

from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from demo.progress import Progress

TOPIC = "flights"
PARTITIONS = 6
LIMIT_S = 60


@dataclass
class Produced:
    records: int
    value_bytes: int
    seconds: float
    ends: dict[int, int]  # partition -> offset after its last record


def create_topic(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 5})  # hides the log of purged requests
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(LIMIT_S)


def produce(bootstrap: str, records: list[tuple[bytes, bytes]]) -> Produced:
    """Produces the records; returns when the broker has acknowledged all of them."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "compression.type": "zstd",
            "linger.ms": 20,
            "batch.size": 1_000_000,
            "queue.buffering.max.messages": 200_000,
        }
    )
    progress = Progress("produce", len(records))
    acknowledged = 0
    ends: dict[int, int] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        nonlocal acknowledged
        if error is not None:
            raise KafkaException(error)
        acknowledged += 1
        partition, offset = message.partition(), message.offset()
        if partition is None or offset is None:
            raise SystemExit("a record was delivered without a place")
        ends[partition] = max(ends.get(partition, 0), offset + 1)

    for number, (key, value) in enumerate(records):
        while True:
            try:
                producer.produce(TOPIC, value, key, on_delivery=delivered)
                break
            except BufferError:  # the queue is full: let deliveries be reported
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
            progress.update(acknowledged)
    while producer.flush(0.1):
        progress.update(acknowledged)
    return Produced(acknowledged, sum(len(value) for _, value in records), progress.finish(acknowledged), ends)
