"""DeleteRecords (21): moves the log start of partitions up to an offset; the records below it are gone.

Translates between the wire, ``Engine.delete_records``, which owns the rules of the offset (-1 is the high watermark),
and ``replica/low_watermarks.py``: the answer waits until the live replicas have moved their log starts, for
``timeout_ms`` at most (KIP-107). Never touches a log itself. One partition's error never fails the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore._core import EngineError, LazyRows
from kafkastore.acl_words import DELETE, TOPIC
from kafkastore.errors import ErrorCode
from kafkastore.replica.low_watermarks import INVALID_LOW_WATERMARK
from kafkastore.requests.authorization import allowed

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.delete_records import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
        DeleteRecordsTopic,
    )
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DeleteRecordsRequest) -> Unwritten:
    begun: list[tuple[int, int]] = []  # (error code, offset) of each partition, in the order of the request
    wanted: dict[tuple[str, int], int] = {}
    may_delete = allowed(context, DELETE, TOPIC, [topic.name for topic in request.topics])
    turn = context.turn()
    for topic in request.topics:
        async for one in turn.each(topic.partitions):
            code, offset = ErrorCode.TOPIC_AUTHORIZATION_FAILED, one.offset
            if topic.name in may_delete:
                code, offset = await _delete(context, topic.name, one.partition_index, one.offset)
            begun.append((code, offset))
            if code == ErrorCode.NONE:
                key = topic.name, one.partition_index
                wanted[key] = max(offset, wanted.get(key, 0))
    low_watermarks = context.broker.replica_manager.low_watermarks
    reached = await low_watermarks.reach(wanted, request.timeout_ms)
    codes = iter([code for code, _ in begun])

    def partition(name: str, requested: DeleteRecordsPartition) -> bytes:
        code, low_watermark = next(codes), INVALID_LOW_WATERMARK
        if code == ErrorCode.NONE:
            code, low_watermark = reached[name, requested.partition_index]
        return context.row(
            "DeleteRecordsPartitionResult",
            partition_index=requested.partition_index,
            low_watermark=low_watermark,
            error_code=code,
        )

    def row(topic: DeleteRecordsTopic) -> Unwritten:
        partitions = LazyRows(topic.partitions, partial(partition, topic.name))
        return context.unwritten_row("DeleteRecordsTopicResult", name=topic.name, partitions=partitions)

    return context.answer(topics=LazyRows(request.topics, row))


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
