"""ElectLeaders (43): elects preferred leaders, or in an unclean election any live replica (KIP-183, KIP-460).

Translates between the wire and ``topic/topics.py``. One partition's error never fails the others. When the request is
for all partitions, the answer has every topic, with the partitions whose leader changed or whose election failed, as in
Kafka.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from kafkastore._core import LazyRows
from kafkastore.acl_words import ALTER
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore._core import Unwritten
    from kafkastore.protocol.elect_leaders import ElectLeadersRequest, TopicPartitions
    from kafkastore.requests.context import RequestContext

PREFERRED, UNCLEAN = 0, 1
"""org.apache.kafka.common.ElectionType"""

_MESSAGES: Final = {
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
}


async def handle(context: RequestContext, request: ElectLeadersRequest) -> Unwritten:
    require_cluster(context, ALTER)
    kind = request.election_type
    if kind not in (PREFERRED, UNCLEAN):
        return _refusal(context, request, f"Unknown election type {kind}")
    requested = None
    turn = context.turn()
    if request.topic_partitions is not None:
        requested = []
        for topic in request.topic_partitions:
            async for number in turn.each(topic.partitions):
                requested.append((topic.topic, number))
    outcomes = await context.broker.topics.elect_leaders(requested, is_unclean=kind == UNCLEAN)
    named: list[tuple[str, Sequence[int]]]
    if request.topic_partitions is not None:
        named = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    else:
        by_name: dict[str, list[int]] = {name: [] for name in context.broker.image.topics}
        async for name, number in turn.each(outcomes):
            by_name.setdefault(name, []).append(number)
        named = [(name, sorted(by_name[name])) async for name in turn.each(await turn.sorted(list(by_name)))]

    def partition(name: str, number: int) -> bytes:
        return _answer(context, name, number, outcomes[name, number])

    def row(one: tuple[str, Sequence[int]]) -> Unwritten:
        name, numbers = one
        results = LazyRows(numbers, partial(partition, name))
        return context.unwritten_row("ReplicaElectionResult", topic=name, partition_result=results)

    return context.answer(error_code=ErrorCode.NONE, replica_election_results=LazyRows(named, row))


def _refusal(context: RequestContext, request: ElectLeadersRequest, message: str) -> Unwritten:
    """The answer that refuses the whole request; each partition has the error too, as in Kafka."""
    code = ErrorCode.INVALID_REQUEST

    def partition(number: int) -> bytes:
        return context.row("PartitionResult", partition_id=number, error_code=code, error_message=message)

    def row(topic: TopicPartitions) -> Unwritten:
        results = LazyRows(topic.partitions, partition)
        return context.unwritten_row("ReplicaElectionResult", topic=topic.topic, partition_result=results)

    return context.answer(error_code=code, replica_election_results=LazyRows(request.topic_partitions or (), row))


def _answer(context: RequestContext, name: str, number: int, code: int) -> bytes:
    message = _MESSAGES.get(code)
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        is_topic_known = context.broker.image.topic(name) is not None
        message = f"No such partition as {name}-{number}" if is_topic_known else f"No such topic as {name}"
    return context.row("PartitionResult", partition_id=number, error_code=code, error_message=message)
