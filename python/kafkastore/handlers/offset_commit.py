"""OffsetCommit: topics by name, by id from version 10 on. Only partitions that exist reach the coordinator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.offsets import DEFAULT_RETENTION, CommitPartition, CommitRequest, CommitTopic
from kafkastore.errors import ErrorCode
from kafkastore.server.context import milliseconds

if TYPE_CHECKING:
    from kafkastore.metadata.image import TopicImage
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    version = context.api_version
    known: list[CommitTopic] = []
    errors: dict[tuple[int, int], int] = {}  # (place of the topic in the request, partition) -> error code
    places: list[int] = []  # of each known topic
    for place, asked in enumerate(request.topics):
        topic, topic_error = _find(context, asked)
        partitions = []
        for row in asked.partitions:
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
            errors.update(((place, index), error_code) for index, error_code in rows)
    return _respond(context, request, errors)


def _find(context: RequestContext, asked: Any) -> tuple[TopicImage | None, int]:
    image = context.broker.image
    if context.api_version < 10:
        return image.topic(asked.name), ErrorCode.NONE
    topic = None if asked.topic_id is None else image.topic_by_id(asked.topic_id.bytes)
    return topic, ErrorCode.NONE if topic is not None else ErrorCode.UNKNOWN_TOPIC_ID


def _respond(context: RequestContext, request: Any, errors: dict[tuple[int, int], int]) -> Any:
    topics = []
    for place, asked in enumerate(request.topics):
        partitions = [
            context.entity(
                "OffsetCommitResponsePartition",
                partition_index=row.partition_index,
                error_code=errors[place, row.partition_index],
            )
            for row in asked.partitions
        ]
        named = {"topic_id": asked.topic_id} if context.api_version >= 10 else {"name": asked.name}
        topics.append(context.entity("OffsetCommitResponseTopic", partitions=partitions, **named))
    return context.response(topics=topics)
