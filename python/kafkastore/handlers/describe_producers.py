"""DescribeProducers (61): the producers that a partition's log remembers, with their open transactions (KIP-664).

Translates between the wire and ``Engine.describe_producers``. A wrong topic fails each of its partitions with a
message, a wrong partition only itself and without one, as Kafka answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode, InvalidTopicError, KafkastoreError, UnknownTopicOrPartitionError
from kafkastore.server.topic_plans import validate_topic_name

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        error = _topic_error(context, topic.name)
        partitions = [
            _failed(context, partition, error.code, error.client_message)
            if error is not None
            else _producers(context, topic.name, partition)
            for partition in topic.partition_indexes
        ]
        topics.append(context.entity("TopicResponse", name=topic.name, partitions=partitions))
    return context.response(topics=topics)


def _topic_error(context: RequestContext, name: str) -> KafkastoreError | None:
    try:
        validate_topic_name(name)
    except InvalidTopicError as error:
        return error
    return UnknownTopicOrPartitionError() if context.broker.image.topic(name) is None else None


def _failed(context: RequestContext, partition: int, code: int, message: str | None = None) -> Any:
    return context.entity(
        "PartitionResponse", partition_index=partition, error_code=code, error_message=message, active_producers=()
    )


def _producers(context: RequestContext, topic: str, partition: int) -> Any:
    try:
        found = context.broker.engine.describe_producers(topic, partition)
    except EngineError as error:
        return _failed(context, partition, error.code)
    producers = [
        context.entity(
            "ProducerState",
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            last_sequence=last_sequence,
            last_timestamp=last_timestamp_ms,
            coordinator_epoch=coordinator_epoch,
            current_txn_start_offset=current_transaction_start_offset,
        )
        for (
            producer_id,
            producer_epoch,
            last_sequence,
            last_timestamp_ms,
            coordinator_epoch,
            current_transaction_start_offset,
        ) in found
    ]
    return context.entity(
        "PartitionResponse",
        partition_index=partition,
        error_code=ErrorCode.NONE,
        error_message=None,
        active_producers=producers,
    )
