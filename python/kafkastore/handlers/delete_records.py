"""DeleteRecords (21): moves the log start of partitions up to an offset; what lies below is gone.

Translates between the wire and ``Engine.delete_records``, which owns the rules of the offset (-1 is the high
watermark). Never touches a log itself. One partition's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext

INVALID_LOW_WATERMARK = -1


async def handle(context: RequestContext, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        results = []
        for partition in topic.partitions:
            code, low_watermark = await _delete(context, topic.name, partition.partition_index, partition.offset)
            results.append(
                context.entity(
                    "DeleteRecordsPartitionResult",
                    partition_index=partition.partition_index,
                    low_watermark=low_watermark,
                    error_code=code,
                )
            )
        topics.append(context.entity("DeleteRecordsTopicResult", name=topic.name, partitions=results))
    return context.response(topics=topics)


async def _delete(context: RequestContext, topic: str, partition: int, offset: int) -> tuple[int, int]:
    """(error code, low watermark)"""
    image = context.broker.image
    if image.partition(topic, partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, INVALID_LOW_WATERMARK
    if image.topics[topic].is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, INVALID_LOW_WATERMARK
    try:
        low_watermark = await context.broker.run_blocking(
            context.broker.engine.delete_records, topic, partition, offset
        )
    except EngineError as error:
        return error.code, INVALID_LOW_WATERMARK
    return ErrorCode.NONE, low_watermark
