"""ListPartitionReassignments (46): which partitions move, from where to where (KIP-455).

The answer leaves out partitions of the request that do not move or do not exist, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DESCRIBE
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.list_partition_reassignments import ListPartitionReassignmentsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListPartitionReassignmentsRequest) -> Unwritten:
    require_cluster(context, DESCRIBE)
    turn = context.turn()
    under_way = await context.broker.topics.reassignments()
    if request.topics is not None:
        wanted = set()
        for topic in request.topics:
            async for number in turn.each(topic.partition_indexes):
                wanted.add((topic.name, number))
        under_way = {key: assigned for key, assigned in under_way.items() if key in wanted}
    by_topic: dict[str, list[bytes]] = {}
    async for (name, number), assigned in turn.each(await turn.sorted(list(under_way.items()))):
        ongoing = context.row(
            "OngoingPartitionReassignment",
            partition_index=number,
            replicas=assigned.replicas,
            adding_replicas=assigned.adding,
            removing_replicas=assigned.leaving,
        )
        by_topic.setdefault(name, []).append(ongoing)
    topics = [
        context.row("OngoingTopicReassignment", name=name, partitions=partitions)
        for name, partitions in by_topic.items()
    ]
    return context.answer(error_code=0, error_message=None, topics=topics)
