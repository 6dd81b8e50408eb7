"""DescribeLogDirs (35): the partitions in each log directory of this broker, their sizes, and the free space.

Translates between the wire and ``Engine.describe_log_dirs``. A request without a topic list means every partition. A
directory with none of the requested partitions is listed, too, and so is an offline directory (KAFKA_STORAGE_ERROR).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import DESCRIBE
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore._core import LogDirReplica, Unwritten
    from kafkastore.protocol.describe_log_dirs import DescribeLogDirsRequest
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DescribeLogDirsRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    requested: set[tuple[str, int]] | None = None
    turn = context.turn()
    if request.topics is not None:
        requested = set()
        for topic in request.topics:
            async for partition in turn.each(topic.partitions):
                requested.add((topic.topic, partition))
    log_dirs = await context.broker.run_blocking(context.broker.engine.describe_log_dirs)
    results = [
        context.unwritten_row(
            "DescribeLogDirsResult",
            error_code=log_dir.error_code,
            log_dir=log_dir.path,
            topics=await _topics(context, turn, log_dir.replicas, requested)
            if log_dir.error_code == ErrorCode.NONE
            else (),
            total_bytes=log_dir.total_bytes,
            usable_bytes=log_dir.usable_bytes,
        )
        for log_dir in log_dirs
    ]
    return context.answer(error_code=ErrorCode.NONE, results=LazyRows(results, lambda one: one))


async def _topics(
    context: RequestContext,
    turn: Turn,
    replicas: Sequence[LogDirReplica],
    requested: set[tuple[str, int]] | None,
) -> LazyRows:
    by_topic: dict[str, list[bytes]] = {}
    async for run in turn.runs(replicas):
        for replica in run:
            if requested is None or (replica.topic, replica.partition) in requested:
                described = context.row(
                    "DescribeLogDirsPartition",
                    partition_index=replica.partition,
                    partition_size=replica.size_bytes,
                    offset_lag=replica.offset_lag,
                    is_future_key=replica.is_future,
                )
                by_topic.setdefault(replica.topic, []).append(described)
    return LazyRows(by_topic.items(), lambda one: context.row("DescribeLogDirsTopic", name=one[0], partitions=one[1]))
