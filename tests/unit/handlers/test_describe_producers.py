"""DescribeProducers: every field of a producer, and which errors carry a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore._simulator import producer_batch

from kafkastore.requests.registry import BY_NAME
from unit.plain_messages import request_body

if TYPE_CHECKING:
    from .one_broker import OneBroker

UNKNOWN_TOPIC, INVALID_TOPIC = 3, 17


def serve(broker: OneBroker, api: str, version: int, given: dict[str, Any]) -> None:
    broker.engine.steps.serve(BY_NAME[api].key, version, request_body(BY_NAME[api], version, given), 0, 0)


def produce(broker: OneBroker, batch: bytes) -> None:
    topic = {"name": "t", "partition_data": [{"index": 0, "records": batch}]}
    serve(broker, "Produce", 9, {"transactional_id": "id", "acks": 1, "topic_data": [topic]})


def test_lists_producers_with_their_open_transaction(broker: OneBroker) -> None:
    broker.create_topic("t")
    engine = broker.engine
    engine.set_broker_options({"transaction.partition.verification.enable": "false"})  # there is no coordinator
    engine.add_records("t", 0, 40)
    produce(broker, producer_batch([b"v"], 1234, 4000, 14, 3, True))
    partitions = {"name": "t", "partition_indexes": [0]}
    marker = {"producer_id": 4000, "producer_epoch": 3, "coordinator_epoch": 5, "topics": [partitions]}
    serve(broker, "WriteTxnMarkers", 1, {"markers": [{**marker, "transaction_result": True}]})
    produce(broker, producer_batch([b"v"] * 3, 1234, 4000, 15, 3, True))
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
