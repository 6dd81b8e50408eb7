"""OffsetCommit: topics by name, by id from version 10 on. Only partitions that exist reach the coordinator.

Giving way between partitions: each topic is looked up when its turn comes. One that is deleted before its offsets are written
leaves them to the coordinator, which forgets those of deleted topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.offsets import DEFAULT_RETENTION, CommitPartition, CommitRequest, CommitTopic
from kafkastore.errors import ErrorCode
from kafkastore.server.context import milliseconds

if TYPE_CHECKING:
    from kafkastore.metadata.image import TopicImage
    from kafkastore.purgatory.turns import Turn
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    version = context.api_version
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
                leader_epoch = row.committed_leader_epoch if version >= 6 else -1
                partitions.append(CommitPartition(index, row.committed_offset, leader_epoch, row.committed_metadata))
        if topic is not None and partitions:
            known.append(CommitTopic(topic.name, topic.topic_id, tuple(partitions)))
            places.append(place)
    if known:
        committed = await context.broker.group_coordinator.commit_offsets(
            CommitRequest(
                request.group_id,
                request.member_id,
                request.group_instance_id if version >= 7 else None,
                request.generation_id_or_member_epoch,
                version,
                tuple(known),
                milliseconds(request.retention_time) if version <= 4 else DEFAULT_RETENTION,
            )
        )
        for place, (_, rows) in zip(places, committed, strict=True):
            async for index, error_code in turn.each(rows):
                errors[place, index] = error_code
    return await _respond(context, request, errors, turn)


def _find(context: RequestContext, asked: Any) -> tuple[TopicImage | None, int]:
    image = context.broker.image
    if context.api_version < 10:
        return image.topic(asked.name), ErrorCode.NONE
    topic = None if asked.topic_id is None else image.topic_by_id(asked.topic_id.bytes)
    return topic, ErrorCode.NONE if topic is not None else ErrorCode.UNKNOWN_TOPIC_ID


async def _respond(context: RequestContext, request: Any, errors: dict[tuple[int, int], int], turn: Turn) -> Any:
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
        named = {"topic_id": asked.topic_id} if context.api_version >= 10 else {"name": asked.name}
        topics.append(context.row("OffsetCommitResponseTopic", partitions=partitions, **named))
    return context.answer(topics=topics)
