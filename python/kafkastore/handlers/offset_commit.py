"""OffsetCommit: topics by name, by id from version 10 on. Only partitions that exist reach the coordinator.

Giving way between partitions: each topic is looked up when its turn comes. One that is deleted before its offsets are written
leaves them to the coordinator, which forgets those of deleted topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.group.offsets import DEFAULT_RETENTION, CommitPartition, CommitRequest, CommitTopic
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.request_types.since import since
from kafkastore.requests.context import milliseconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
    from kafkastore.metadata.image import TopicImage
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: OffsetCommitRequest) -> Unwritten:
    known: list[CommitTopic] = []
    errors: dict[tuple[int, int], int] = {}  # (place of the topic in the request, partition) -> error code
    places: list[int] = []  # of each known topic
    turn = context.turn()
    async for place, asked in turn.each(enumerate(request.topics)):
        topic, topic_error = _find(context, asked)
        partitions = []
        async for row in turn.each(asked.partitions):
            index = row.partition_index
            if topic is None or not 0 <= index < len(topic.partitions):
                errors[place, index] = topic_error or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                leader_epoch = row.committed_leader_epoch if since(row, 6) else -1
                partitions.append(CommitPartition(index, row.committed_offset, leader_epoch, row.committed_metadata))
        if topic is not None and partitions:
            known.append(CommitTopic(topic.name, topic.topic_id, tuple(partitions)))
            places.append(place)
    if known:
        committed = await context.broker.group_coordinator.commit_offsets(
            CommitRequest(
                request.group_id,
                request.member_id,
                request.group_instance_id if since(request, 7) else None,
                request.generation_id_or_member_epoch,
                context.api_version,
                tuple(known),
                DEFAULT_RETENTION if since(request, 5) else milliseconds(request.retention_time),
            )
        )
        for place, (_, rows) in zip(places, committed, strict=True):
            async for index, error_code in turn.each(rows):
                errors[place, index] = error_code
    return await _respond(context, request, errors, turn)


def _find(context: RequestContext, asked: OffsetCommitRequestTopic) -> tuple[TopicImage | None, int]:
    image = context.broker.image
    if not since(asked, 10):
        return image.topic(asked.name), ErrorCode.NONE
    topic = None if asked.topic_id is None else image.topic_by_id(asked.topic_id.bytes)
    return topic, ErrorCode.NONE if topic is not None else ErrorCode.UNKNOWN_TOPIC_ID


async def _respond(
    context: RequestContext, request: OffsetCommitRequest, errors: Mapping[tuple[int, int], int], turn: Turn
) -> Unwritten:
    topics = []
    async for place, asked in turn.each(enumerate(request.topics)):
        partitions = [
            context.row(
                "OffsetCommitResponsePartition",
                partition_index=row.partition_index,
                error_code=errors[place, row.partition_index],
            )
            async for row in turn.each(asked.partitions)
        ]
        if since(asked, 10):
            row = context.row("OffsetCommitResponseTopic", topic_id=asked.topic_id, partitions=partitions)
        else:
            row = context.row("OffsetCommitResponseTopic", name=asked.name, partitions=partitions)
        topics.append(row)
    return context.answer(topics=topics)
