"""AlterPartitionReassignments (45): moves partitions to other brokers, or cancels such moves (KIP-455, KIP-860).

Translates between the wire and ``topic/topics.py``. One partition's error never fails the others.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore._core import Unwritten
    from kafkastore.errors import KafkastoreError
    from kafkastore.protocol.alter_partition_reassignments import (
        AlterPartitionReassignmentsRequest,
        ReassignablePartition,
        ReassignableTopic,
    )
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterPartitionReassignmentsRequest) -> Unwritten:
    require_cluster(context, ALTER)
    turn = context.turn()
    requested: dict[tuple[str, int], Sequence[int] | None] = {}
    for topic in request.topics:
        async for one in turn.each(topic.partitions):
            requested[topic.name, one.partition_index] = one.replicas
    allows_factor_change = request.allow_replication_factor_change
    outcomes = await context.broker.topics.reassign(requested, allows_factor_change=allows_factor_change)

    def partition(name: str, one: ReassignablePartition) -> bytes:
        return _answer(context, one.partition_index, outcomes[name, one.partition_index])

    def row(topic: ReassignableTopic) -> Unwritten:
        return context.unwritten_row(
            "ReassignableTopicResponse",
            name=topic.name,
            partitions=LazyRows(topic.partitions, partial(partition, topic.name)),
        )

    return context.answer(
        allow_replication_factor_change=allows_factor_change,
        error_code=0,
        error_message=None if request.topics else "",  # Kafka's answer to a request without topics
        responses=LazyRows(request.topics, row),
    )


def _answer(context: RequestContext, number: int, refusal: KafkastoreError | None) -> bytes:
    return context.row(
        "ReassignablePartitionResponse",
        partition_index=number,
        error_code=0 if refusal is None else refusal.code,
        error_message=None if refusal is None else refusal.message,
    )
