"""Records written through librdkafka, for tests that need no Java."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Producer

from clients.conftest import Sample

LIMIT_S = 30.0


def produce_samples(
    bootstrap: str, topic: str, records: Sequence[Sample], partitions: int = 1, codec: str = "zstd"
) -> None:
    """Record i goes to partition i % partitions; returns when all are acknowledged."""
    settings = {
        "bootstrap.servers": bootstrap,
        "compression.type": codec,
        "enable.idempotence": True,
        "linger.ms": 5,
        "batch.num.messages": 40,
    }
    producer = Producer(settings)
    for number, record in enumerate(records):
        producer.produce(
            topic,
            value=record.value,
            key=record.key,
            partition=number % partitions,
            timestamp=record.timestamp,
            headers=list(record.headers),
        )
    assert producer.flush(LIMIT_S) == 0
