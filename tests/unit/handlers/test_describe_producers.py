"""DescribeProducers: every field of a producer, and which errors carry a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .one_broker import OneBroker

UNKNOWN_TOPIC, INVALID_TOPIC = 3, 17


def test_lists_producers_with_their_open_transaction(broker: OneBroker) -> None:
    broker.create_topic("t")
    broker.engine.producers["t", 0] = [(4000, 3, 17, 1234, 5, 42)]
    (topic,) = broker.ask("describe_producers", 0, {"topics": [{"name": "t", "partition_indexes": [0]}]}).topics
    ((producer,),) = (partition.active_producers for partition in topic.partitions)
    assert (producer.producer_id, producer.producer_epoch, producer.last_sequence) == (4000, 3, 17)
    assert (producer.last_timestamp, producer.coordinator_epoch) == (1234, 5)
    assert producer.current_txn_start_offset == 42


def test_a_wrong_partition_fails_without_a_message_and_a_wrong_topic_with_one(broker: OneBroker) -> None:
    broker.create_topic("t")
    asked = [{"name": name, "partition_indexes": [0, 7]} for name in ("t", "nope", "a/b")]
    answer = broker.ask("describe_producers", 0, {"topics": asked})
    found = [[(int(p.error_code), p.error_message is None) for p in topic.partitions] for topic in answer.topics]
    assert found == [[(0, True), (UNKNOWN_TOPIC, True)], [(UNKNOWN_TOPIC, False)] * 2, [(INVALID_TOPIC, False)] * 2]
