"""CreatePartitions (37): grows topics to a number of partitions, with replicas placed by the broker or by the client.

Translates between the wire and ``topic/topics.py``, which owns the rules. This module checks the request as a whole: a
topic that the request names more than once fails, with one row in the answer. One topic's error never fails the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER, TOPIC
from kafkastore.errors import (
    ErrorCode,
    InvalidRequestError,
    KafkastoreError,
    RequestTimedOutError,
    TopicAuthorizationFailedError,
)
from kafkastore.requests.authorization import allowed
from kafkastore.topic.new_topic import NewPartitions

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
    from kafkastore.requests.context import RequestContext

STRICT_QUOTA_FROM: Final = 3
"""Older clients do not know THROTTLING_QUOTA_EXCEEDED (KIP-599)."""


async def handle(context: RequestContext, request: CreatePartitionsRequest) -> Unwritten:
    if request.timeout_ms <= 0:
        raise RequestTimedOutError
    turn = context.turn()
    counts: dict[str, int] = {}
    async for topic in turn.each(request.topics):
        counts[topic.name] = counts.get(topic.name, 0) + 1
    may_alter = allowed(context, ALTER, TOPIC, [name for name, count in counts.items() if count == 1])
    requested = [
        _growth(topic)
        async for topic in turn.each(request.topics)
        if counts[topic.name] == 1 and topic.name in may_alter
    ]
    failed: dict[str, KafkastoreError] = {
        name: InvalidRequestError("Duplicate topic name.") for name, count in counts.items() if count > 1
    }
    failed |= {
        name: TopicAuthorizationFailedError() for name, count in counts.items() if count == 1 and name not in may_alter
    }
    quota = context.mutation_quota(strict_from=STRICT_QUOTA_FROM)
    failed |= await context.broker.topics.create_all_partitions(
        requested, validate_only=request.validate_only, turn=turn, quota=quota
    )

    def row(name: str) -> bytes:
        error = failed.get(name)
        code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
        return context.row("CreatePartitionsTopicResult", name=name, error_code=code, error_message=message)

    return context.answer(throttle_time_ms=quota.throttle_time_ms, results=LazyRows(counts, row))


def _growth(topic: CreatePartitionsTopic) -> NewPartitions:
    assignments = topic.assignments
    return NewPartitions(
        topic.name,
        topic.count,
        None if assignments is None else [assignment.broker_ids for assignment in assignments],
    )
