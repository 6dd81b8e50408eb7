"""What a client of librdkafka sees of a broker under test."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, Producer

from kafkastore.testing import Cluster, Node

LIMIT_S = 20.0
QUIET = {
    "enable.sparse.connections": False,
    "log_level": 0,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 50,
    "retry.backoff.ms": 5,
}


def producer(node: Node | Cluster, user: str | None = None, **settings: object) -> Producer:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer(node.librdkafka_properties(user) | QUIET | given)


def produce(one: Producer | Node | Cluster, topic: str, values: Sequence[bytes]) -> list[KafkaError | None]:
    """Of each record the error, None for an acknowledged one."""
    client = one if isinstance(one, Producer) else producer(one)
    errors: list[KafkaError | None] = []
    for value in values:
        client.produce(topic, value, partition=0, on_delivery=lambda error, _: errors.append(error))
    assert client.flush(LIMIT_S) == 0, "records are neither acknowledged nor refused"
    return errors


def consumer(node: Node | Cluster, group: str, **settings: object) -> Consumer:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    begin = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    return Consumer(node.librdkafka_properties() | QUIET | begin | given)


def values_of(node: Node | Cluster, topic: str, count: int) -> list[bytes]:
    """The first records of partition 0, read without a group's session."""
    from confluent_kafka import TopicPartition

    client = consumer(node, "reader")
    try:
        client.assign([TopicPartition(topic, 0, 0)])
        return polled(client, count)
    finally:
        client.close()


def polled(client: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    deadline = time.monotonic() + LIMIT_S
    while len(found) < count and time.monotonic() < deadline:
        message = client.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message.value() or b"")
    assert len(found) == count, f"{len(found)} of {count} records came"
    return found
