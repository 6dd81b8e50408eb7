"""Topics for tests, made through librdkafka's admin client, and a plain full read of one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from peer.broker_process import wait_until

LIMIT_S = 30.0

LEADERS_CHANGE = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # of a leader that was not told yet
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,  # KIP-207
)


def admin_client(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def create_topic(bootstrap: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
    """Creates the topic and returns its name when every partition has a leader."""
    admin = admin_client(bootstrap)
    admin.create_topics([NewTopic(name, partitions, 1, config=dict(config or {}))])[name].result(LIMIT_S)

    def has_leaders() -> bool:
        found = admin.list_topics(name, timeout=LIMIT_S).topics[name]
        return (
            found.error is None
            and len(found.partitions) == partitions
            and all(p.leader >= 0 for p in found.partitions.values())
        )

    wait_until(has_leaders, LIMIT_S, f"leaders for {name}")
    return name


def place_of(message: Message) -> tuple[int, int]:
    """(partition, offset) of a message that has them: one that was read."""
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    return partition, offset


def acked_place(message: Message) -> tuple[int, int | None]:
    """(partition, offset) of a message that was delivered. Of an idempotent producer the offset may be None: the answer
    was lost, and since a later batch was taken librdkafka knows that this one is there, not where."""
    partition = message.partition()
    assert partition is not None
    return partition, message.offset()


def end_offsets(bootstrap: str, topic: str, isolation: str = "read_uncommitted") -> dict[int, tuple[int, int]]:
    """(low, high) of each partition, as a consumer of this isolation level is answered them; asks again while leaders
    change."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": isolation})
    found: dict[int, tuple[int, int]] = {}

    def are_told() -> bool:
        try:
            partitions = consumer.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
            for number in partitions:
                found[number] = consumer.get_watermark_offsets(TopicPartition(topic, number), LIMIT_S, False)
        except KafkaException as error:
            if error.args[0].code() not in LEADERS_CHANGE:
                raise
            return False
        return True

    with closing(consumer):
        wait_until(are_told, LIMIT_S, f"{topic} tells its offsets")
    return found


def last_stable_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The end of each partition as a consumer of committed records is answered it."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_committed"}
    with closing(Consumer(settings)) as consumer:
        numbers = consumer.list_topics(topic, timeout=LIMIT_S).topics[topic].partitions
        asked = [TopicPartition(topic, number, OFFSET_END) for number in numbers]
        return {one.partition: one.offset for one in consumer.offsets_for_times(asked, LIMIT_S)}


def read_settled(bootstrap: str, topic: str) -> list[Message]:
    """Every committed record, once no transaction is open: an EndTxn is answered before its markers are written."""
    wait_until_stable(bootstrap, topic, LIMIT_S)
    return read_topic(bootstrap, topic)


def read_topic(bootstrap: str, topic: str, limit_s: float = LIMIT_S, **config: Any) -> list[Message]:
    """Every record of the topic from the beginning to its end as of now, without a group; config names with `_` for
    `.`. A leader that has only begun may know less of the end than the one before it has told: then more is to come."""
    ends = end_offsets(bootstrap, topic, config.get("isolation_level", "read_committed"))
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 20,  # the end of a partition is found by a fetch that returns nothing
    }
    settings |= {name.replace("_", "."): value for name, value in config.items()}
    consumer = Consumer(settings)
    messages: list[Message] = []
    with closing(consumer):
        consumer.assign([TopicPartition(topic, partition, low) for partition, (low, _) in ends.items()])
        waiting = set(ends)
        deadline = time.monotonic() + limit_s
        while waiting:
            assert time.monotonic() < deadline, f"{len(messages)} records of {topic} after {limit_s:g} s; ends {ends}"
            for message in consumer.consume(10_000, 0.02):
                error = message.error()
                if error is None:
                    messages.append(message)
                elif error.code() != -191:  # _PARTITION_EOF
                    raise KafkaException(error)
                elif (place := place_of(message))[1] >= ends[place[0]][1]:
                    waiting.discard(place[0])
        return messages


def wait_until_stable(bootstrap: str, topic: str, limit_s: float) -> None:
    """Waits until no partition of the topic has an open transaction."""

    def is_stable() -> bool:
        try:
            stable = last_stable_offsets(bootstrap, topic)
        except KafkaException:
            return False
        return {number: high for number, (_, high) in end_offsets(bootstrap, topic).items()} == stable

    wait_until(is_stable, limit_s, f"{topic} has no open transaction")
