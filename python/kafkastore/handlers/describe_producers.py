"""DescribeProducers (61): the producers that a partition's log remembers, with their open transactions (KIP-664).

Translates between the wire and ``Engine.describe_producers``. An invalid or unknown topic fails each of its partitions,
with a message; an unknown partition fails alone, without a message, as Kafka answers.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING

from kafkastore._core import EngineError, LazyRows
from kafkastore.acl_words import READ, TOPIC
from kafkastore.errors import (
    ErrorCode,
    InvalidTopicError,
    KafkastoreError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
)
from kafkastore.handlers.repeats import Repeats
from kafkastore.requests.authorization import allows
from kafkastore.topic_names import validate_topic_name

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.describe_producers import DescribeProducersRequest, TopicRequest
    from kafkastore.requests.context import RequestContext


_PACKED = struct.Struct(">qiiqiq")
"""A producer as ``Engine.describe_producers`` gives it, in the order in which :func:`_partition` takes it apart."""


async def handle(context: RequestContext, request: DescribeProducersRequest) -> Unwritten:
    repeats = Repeats()

    def partition(name: str, error: KafkastoreError | None, index: int) -> Unwritten:
        try:
            if error is not None:
                raise error
            repeats.check((name, index))
            packed = context.broker.engine.describe_producers(name, index)
        except (KafkastoreError, EngineError) as refusal:
            message = refusal.client_message if isinstance(refusal, KafkastoreError) else None
            return _partition(context, index, b"", refusal.code, message)
        repeats.note((name, index), len(packed))
        return _partition(context, index, packed)

    def row(topic: TopicRequest) -> Unwritten:
        partitions = LazyRows(
            topic.partition_indexes, partial(partition, topic.name, _topic_error(context, topic.name))
        )
        return context.unwritten_row("TopicResponse", name=topic.name, partitions=partitions)

    return context.answer(topics=LazyRows(request.topics, row))


def _topic_error(context: RequestContext, name: str) -> KafkastoreError | None:
    try:
        validate_topic_name(name)
    except InvalidTopicError as error:
        return error
    if not allows(context, READ, TOPIC, name):
        return TopicAuthorizationFailedError()
    return UnknownTopicOrPartitionError() if context.broker.image.topic(name) is None else None


def _partition(
    context: RequestContext, index: int, packed: bytes, code: int = ErrorCode.NONE, message: str | None = None
) -> Unwritten:
    def producer(at: int) -> bytes:
        producer_id, epoch, last_sequence, last_timestamp, coordinator_epoch, start_offset = _PACKED.unpack_from(
            packed, at
        )
        return context.row(
            "ProducerState",
            producer_id=producer_id,
            producer_epoch=epoch,
            last_sequence=last_sequence,
            last_timestamp=last_timestamp,
            coordinator_epoch=coordinator_epoch,
            current_txn_start_offset=start_offset,
        )

    return context.unwritten_row(
        "PartitionResponse",
        partition_index=index,
        error_code=code,
        error_message=message,
        active_producers=LazyRows(range(0, len(packed), _PACKED.size), producer),
    )
