"""DeleteRecords (21): moves the log start of partitions up to an offset; what lies below is gone.

Translates between the wire, ``Engine.delete_records``, which owns the rules of the offset (-1 is the high watermark), and
``replica/low_watermarks.py``: the answer waits until the replicas that live have followed, for ``timeout_ms`` at most (KIP-107).
Never touches a log itself. One partition's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode
from kafkastore.replica.low_watermarks import INVALID_LOW_WATERMARK
from kafkastore.server.context import milliseconds

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    asked = [(topic.name, one.partition_index, one.offset) for topic in request.topics for one in topic.partitions]
    begun = [await _delete(context, *one) for one in asked]
    wanted: dict[tuple[str, int], int] = {}
    for (topic, partition, _), (code, offset) in zip(asked, begun, strict=True):
        if code == ErrorCode.NONE:
            wanted[topic, partition] = max(offset, wanted.get((topic, partition), 0))
    low_watermarks = context.broker.replica_manager.low_watermarks
    reached = await low_watermarks.reach(wanted, milliseconds(request.timeout))
    codes = iter([code for code, _ in begun])
    topics = []
    for topic in request.topics:
        results = []
        for partition in topic.partitions:
            code, low_watermark = next(codes), INVALID_LOW_WATERMARK
            if code == ErrorCode.NONE:
                code, low_watermark = reached[topic.name, partition.partition_index]
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
    """(error code, the offset that the low watermark has to reach)"""
    image = context.broker.image
    if image.partition(topic, partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, offset
    if image.topics[topic].is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, offset
    engine = context.broker.engine
    try:
        return ErrorCode.NONE, await context.broker.run_blocking(engine.delete_records, topic, partition, offset)
    except EngineError as error:
        return error.code, offset
