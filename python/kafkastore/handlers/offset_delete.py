"""OffsetDelete (KIP-496): deletes a group's offsets of topics that the group does not subscribe to.

The handler gives way between partitions. A topic that is created or deleted meanwhile does no harm: each partition is
checked at its own time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DELETE, READ, TOPIC
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import allowed, require_group

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.offset_delete import OffsetDeleteRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: OffsetDeleteRequest) -> Unwritten:
    require_group(context, DELETE, request.group_id)
    may_read = allowed(context, READ, TOPIC, [topic.name for topic in request.topics])
    image = context.broker.image
    errors: dict[tuple[str, int], int] = {}
    known: list[tuple[str, list[int]]] = []
    turn = context.turn()
    async for requested in turn.each(request.topics):
        topic = image.topic(requested.name)
        existing = []
        async for row in turn.each(requested.partitions):
            if requested.name not in may_read:
                errors[requested.name, row.partition_index] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is not None and 0 <= row.partition_index < len(topic.partitions):
                existing.append(row.partition_index)
            else:
                errors[requested.name, row.partition_index] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if existing:
            known.append((requested.name, existing))
    if known or all(topic.name in may_read for topic in request.topics):  # else Kafka does not look at the group
        error_code, deleted = await context.broker.group_coordinator.delete_offsets(request.group_id, known)
        if error_code:
            return context.answer(error_code=error_code, topics=[])
        for name, rows in deleted:
            async for index, code in turn.each(rows):
                errors[name, index] = code
    topics = [
        context.row(
            "OffsetDeleteResponseTopic",
            name=requested.name,
            partitions=[
                context.row(
                    "OffsetDeleteResponsePartition",
                    partition_index=row.partition_index,
                    error_code=errors[requested.name, row.partition_index],
                )
                async for row in turn.each(requested.partitions)
            ],
        )
        for requested in request.topics
    ]
    return context.answer(error_code=ErrorCode.NONE, topics=topics)
