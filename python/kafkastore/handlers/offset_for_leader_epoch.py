"""OffsetForLeaderEpoch (23): where a leader epoch ended in a partition's log (KIP-101, KIP-279, KIP-320).

Translates between the wire and ``Engine.offset_for_leader_epoch``, which knows the epochs. One partition's error never
fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


async def handle(context: RequestContext, request: Any) -> Any:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            code, leader_epoch, end_offset = _end_offset(context, topic.topic, asked)
            partitions.append(
                context.entity(
                    "EpochEndOffset",
                    error_code=code,
                    partition=asked.partition,
                    leader_epoch=leader_epoch,
                    end_offset=end_offset,
                )
            )
        topics.append(context.entity("OffsetForLeaderTopicResult", topic=topic.topic, partitions=partitions))
    return context.response(topics=topics)


def _end_offset(context: RequestContext, topic: str, asked: Any) -> tuple[int, int, int]:
    """(error code, leader epoch, end offset)"""
    if context.broker.image.partition(topic, asked.partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, UNDEFINED_EPOCH, UNDEFINED_OFFSET
    try:
        return context.broker.engine.offset_for_leader_epoch(
            topic, asked.partition, asked.current_leader_epoch, asked.leader_epoch
        )
    except EngineError as error:
        return error.code, UNDEFINED_EPOCH, UNDEFINED_OFFSET
