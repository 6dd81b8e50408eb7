"""OffsetForLeaderEpoch (23): where a leader epoch ended in a partition's log (KIP-101, KIP-279, KIP-320).

Translates between the wire and ``Engine.offset_for_leader_epoch``, which knows the epochs. One partition's error never
fails the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore._core import EngineError, LazyRows
from kafkastore.acl_words import CLUSTER_ACTION, DESCRIBE, TOPIC
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import EVERYTHING, allowed, allows_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.offset_for_leader_epoch import (
        OffsetForLeaderEpochRequest,
        OffsetForLeaderPartition,
        OffsetForLeaderTopic,
    )
    from kafkastore.requests.context import RequestContext

UNDEFINED_EPOCH = -1
UNDEFINED_OFFSET = -1


async def handle(context: RequestContext, request: OffsetForLeaderEpochRequest) -> Unwritten:
    names = [topic.topic for topic in request.topics]
    acts_for_cluster = allows_cluster(context, CLUSTER_ACTION, is_logged=False)
    may_describe = EVERYTHING if acts_for_cluster else allowed(context, DESCRIBE, TOPIC, names)

    def partition(name: str, requested: OffsetForLeaderPartition) -> bytes:
        if name not in may_describe:
            return refused(requested, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        if context.broker.image.partition(name, requested.partition) is None:
            return refused(requested, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        try:
            end = context.broker.engine.offset_for_leader_epoch(
                name,
                requested.partition,
                requested.current_leader_epoch,
                requested.leader_epoch,
            )
        except EngineError as error:
            return refused(requested, error.code)
        return context.row(
            "EpochEndOffset",
            error_code=ErrorCode.NONE,
            partition=requested.partition,
            leader_epoch=end.leader_epoch,
            end_offset=end.end_offset,
        )

    def refused(requested: OffsetForLeaderPartition, code: int) -> bytes:
        return context.row(
            "EpochEndOffset",
            error_code=code,
            partition=requested.partition,
            leader_epoch=UNDEFINED_EPOCH,
            end_offset=UNDEFINED_OFFSET,
        )

    def row(topic: OffsetForLeaderTopic) -> Unwritten:
        partitions = LazyRows(topic.partitions, partial(partition, topic.topic))
        return context.unwritten_row("OffsetForLeaderTopicResult", topic=topic.topic, partitions=partitions)

    return context.answer(topics=LazyRows(request.topics, row))
