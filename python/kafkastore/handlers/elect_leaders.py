"""ElectLeaders (43): preferred leaders, or uncleanly any that is alive (KIP-183, KIP-460).

Translates between the wire and ``server/topics.py``. One partition's error never fails the others. Asked for all partitions, every
topic is in the answer, with those partitions that an election changes or fails for, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext

PREFERRED, UNCLEAN = 0, 1
"""org.apache.kafka.common.ElectionType"""

_MESSAGES: Final = {
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "The preferred leader was not available.",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "Eligible topic partition leaders are not available.",
    ErrorCode.ELECTION_NOT_NEEDED: "Leader election not needed for topic partition.",
}


async def handle(context: RequestContext, request: Any) -> Any:
    kind = getattr(request, "election_type", PREFERRED)  # version 0 knows no other
    if kind not in (PREFERRED, UNCLEAN):
        return _refusal(context, request, f"Unknown election type {kind}")
    asked = None
    if request.topic_partitions is not None:
        asked = [(topic.topic, number) for topic in request.topic_partitions for number in topic.partitions]
    outcomes = await context.broker.topics.elect_leaders(asked, is_unclean=kind == UNCLEAN)
    if request.topic_partitions is not None:
        named = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    else:
        names = sorted(context.broker.image.topics.keys() | {name for name, _ in outcomes})
        named = [(name, sorted(number for topic, number in outcomes if topic == name)) for name in names]
    results = [
        context.entity(
            "ReplicaElectionResult",
            topic=name,
            partition_result=[_answer(context, name, number, outcomes[name, number]) for number in numbers],
        )
        for name, numbers in named
    ]
    return context.response(error_code=ErrorCode.NONE, replica_election_results=results)


def _refusal(context: RequestContext, request: Any, message: str) -> Any:
    """Of the whole request; Kafka says it of each partition too."""
    code = ErrorCode.INVALID_REQUEST
    results = [
        context.entity(
            "ReplicaElectionResult",
            topic=topic.topic,
            partition_result=[
                context.entity("PartitionResult", partition_id=number, error_code=code, error_message=message)
                for number in topic.partitions
            ],
        )
        for topic in request.topic_partitions or ()
    ]
    return context.response(error_code=code, replica_election_results=results)


def _answer(context: RequestContext, name: str, number: int, code: int) -> Any:
    message = _MESSAGES.get(code)
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        is_topic_known = context.broker.image.topic(name) is not None
        message = f"No such partition as {name}-{number}" if is_topic_known else f"No such topic as {name}"
    return context.entity("PartitionResult", partition_id=number, error_code=code, error_message=message)
