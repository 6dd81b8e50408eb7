"""ListPartitionReassignments (46): which partitions move, from where to where (KIP-455).

Partitions that are asked for and do not move, or are not there, are not in the answer, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    under_way = await context.broker.topics.reassignments()
    if request.topics is not None:
        wanted = {(topic.name, number) for topic in request.topics for number in topic.partition_indexes}
        under_way = {key: assigned for key, assigned in under_way.items() if key in wanted}
    by_topic: dict[str, list[Any]] = {}
    for (name, number), assigned in sorted(under_way.items()):
        ongoing = context.entity(
            "OngoingPartitionReassignment",
            partition_index=number,
            replicas=assigned.replicas,
            adding_replicas=assigned.adding,
            removing_replicas=assigned.leaving,
        )
        by_topic.setdefault(name, []).append(ongoing)
    topics = [
        context.entity("OngoingTopicReassignment", name=name, partitions=partitions)
        for name, partitions in by_topic.items()
    ]
    return context.response(error_code=0, error_message=None, topics=topics)
