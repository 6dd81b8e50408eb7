"""AlterPartitionReassignments (45): moves partitions to other brokers, or cancels that (KIP-455, KIP-860).

Translates between the wire and ``server/topics.py``. One partition's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    asked = {(topic.name, one.partition_index): one.replicas for topic in request.topics for one in topic.partitions}
    allows_factor_change = getattr(request, "allow_replication_factor_change", True)  # version 0 has no such field
    outcomes = await context.broker.topics.reassign(asked, allows_factor_change=allows_factor_change)
    answers = [
        context.entity(
            "ReassignableTopicResponse",
            name=topic.name,
            partitions=[
                _answer(context, one.partition_index, outcomes[topic.name, one.partition_index])
                for one in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return context.response(
        allow_replication_factor_change=allows_factor_change,
        error_code=0,
        error_message=None if request.topics else "",  # Kafka's answer to a request without topics
        responses=answers,
    )


def _answer(context: RequestContext, number: int, refusal: Any) -> Any:
    return context.entity(
        "ReassignablePartitionResponse",
        partition_index=number,
        error_code=0 if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )
