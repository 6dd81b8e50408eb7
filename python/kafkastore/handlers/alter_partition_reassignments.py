"""AlterPartitionReassignments (45): moves partitions to other brokers, or cancels that (KIP-455, KIP-860).

Translates between the wire and ``server/topics.py``. One partition's error never fails the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.encoding import Rows

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    turn = context.turn()
    asked: dict[tuple[str, int], Any] = {}
    for topic in request.topics:
        async for one in turn.each(topic.partitions):
            asked[topic.name, one.partition_index] = one.replicas
    allows_factor_change = getattr(request, "allow_replication_factor_change", True)  # version 0 has no such field
    outcomes = await context.broker.topics.reassign(asked, allows_factor_change=allows_factor_change)

    def partition(name: str, one: Any) -> bytes:
        return _answer(context, one.partition_index, outcomes[name, one.partition_index])

    def row(topic: Any) -> Unwritten:
        return context.unwritten_row(
            "ReassignableTopicResponse",
            name=topic.name,
            partitions=Rows(topic.partitions, partial(partition, topic.name)),
        )

    return context.answer(
        allow_replication_factor_change=allows_factor_change,
        error_code=0,
        error_message=None if request.topics else "",  # Kafka's answer to a request without topics
        responses=Rows(request.topics, row),
    )


def _answer(context: RequestContext, number: int, refusal: Any) -> bytes:
    return context.row(
        "ReassignablePartitionResponse",
        partition_index=number,
        error_code=0 if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )
