"""OffsetDelete (KIP-496): forgets offsets of topics that the group does not subscribe to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    image = context.broker.image
    errors: dict[tuple[str, int], int] = {}
    known: list[tuple[str, list[int]]] = []
    for asked in request.topics:
        topic = image.topic(asked.name)
        existing = []
        for row in asked.partitions:
            if topic is not None and 0 <= row.partition_index < len(topic.partitions):
                existing.append(row.partition_index)
            else:
                errors[asked.name, row.partition_index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if existing:
            known.append((asked.name, existing))
    error_code, deleted = await context.broker.group_coordinator.delete_offsets(request.group_id, known)
    if error_code:
        return context.response(error_code=error_code, topics=[])
    for name, rows in deleted:
        errors.update(((name, index), code) for index, code in rows)
    topics = [
        context.entity(
            "OffsetDeleteResponseTopic",
            name=asked.name,
            partitions=[
                context.entity(
                    "OffsetDeleteResponsePartition",
                    partition_index=row.partition_index,
                    error_code=errors[asked.name, row.partition_index],
                )
                for row in asked.partitions
            ],
        )
        for asked in request.topics
    ]
    return context.response(error_code=ErrorCode.NONE, topics=topics)
