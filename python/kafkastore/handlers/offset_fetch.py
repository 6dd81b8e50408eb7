"""OffsetFetch: one group before version 8, several since; topics by name, by id from version 10 on.

``require_stable`` (since version 7) refuses offsets of open transactions; plain commits show only when they are durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.offsets import NOTHING_COMMITTED, FetchedPartition
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    version = context.api_version
    if version >= 8:
        return context.response(groups=[_group(context, group, request.require_stable) for group in request.groups])
    require_stable = version >= 7 and request.require_stable
    wanted = None if request.topics is None else [(row.name, None, row.partition_indexes) for row in request.topics]
    result = context.broker.group_coordinator.fetch_offsets(request.group_id, wanted, require_stable)
    topics = result.topics
    if result.error_code and version < 2:  # no field for an error of the group yet
        failed = FetchedPartition(0, *NOTHING_COMMITTED)._replace(error_code=result.error_code)
        topics = [
            (row.name, [failed._replace(partition=index) for index in row.partition_indexes]) for row in request.topics
        ]
    rows = [
        context.entity("OffsetFetchResponseTopic", name=name, partitions=_partitions(context, partitions))
        for name, partitions in topics
    ]
    return context.response(topics=rows, error_code=result.error_code)


def _group(context: RequestContext, group: Any, require_stable: bool) -> Any:
    if context.api_version >= 10:
        return _group_by_ids(context, group, require_stable)
    wanted = None if group.topics is None else [(row.name, None, row.partition_indexes) for row in group.topics]
    result = context.broker.group_coordinator.fetch_offsets(group.group_id, wanted, require_stable)
    rows = [
        context.entity("OffsetFetchResponseTopics", name=name, partitions=_partitions(context, partitions))
        for name, partitions in result.topics
    ]
    return context.entity(
        "OffsetFetchResponseGroup", group_id=group.group_id, topics=rows, error_code=result.error_code
    )


def _group_by_ids(context: RequestContext, group: Any, require_stable: bool) -> Any:
    """By topic id: unknown ids are answered one by one; of all topics, those that are gone are left out."""
    image = context.broker.image
    coordinator = context.broker.group_coordinator
    rows: list[tuple[Any, Iterable[FetchedPartition]]] = []
    if group.topics is None:
        result = coordinator.fetch_offsets(group.group_id, None, require_stable)
        for name, partitions in result.topics:
            topic = image.topic(name)
            if topic is not None:
                rows.append((topic.topic_id, partitions))
    else:
        topics = [None if row.topic_id is None else image.topic_by_id(row.topic_id.bytes) for row in group.topics]
        wanted = [
            (topic.name, topic.topic_id, row.partition_indexes)
            for topic, row in zip(topics, group.topics, strict=True)
            if topic is not None
        ]
        result = coordinator.fetch_offsets(group.group_id, wanted, require_stable)
        found = iter(result.topics)
        for topic, row in zip(topics, group.topics, strict=True):
            if topic is None:
                rows.append((row.topic_id, _unknown(row.partition_indexes)))
            elif not result.error_code:
                rows.append((row.topic_id, next(found)[1]))
    if result.error_code:
        rows = []
    entities = [
        context.entity("OffsetFetchResponseTopics", topic_id=topic_id, partitions=_partitions(context, partitions))
        for topic_id, partitions in rows
    ]
    return context.entity(
        "OffsetFetchResponseGroup", group_id=group.group_id, topics=entities, error_code=result.error_code
    )


def _unknown(partitions: Sequence[int]) -> list[FetchedPartition]:
    nothing = FetchedPartition(0, *NOTHING_COMMITTED)._replace(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
    return [nothing._replace(partition=partition) for partition in partitions]


def _partitions(context: RequestContext, rows: Iterable[FetchedPartition]) -> list[Any]:
    name = "OffsetFetchResponsePartitions" if context.api_version >= 8 else "OffsetFetchResponsePartition"
    return [
        context.entity(
            name,
            partition_index=row.partition,
            committed_offset=row.offset,
            committed_leader_epoch=row.leader_epoch,
            metadata=row.metadata,
            error_code=row.error_code,
        )
        for row in rows
    ]
