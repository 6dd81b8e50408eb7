"""In-sync sets that leaders propose: AlterPartition 2 and 3 (KIP-497, KIP-841, KIP-903).

A proposal is taken only from the leader, in its leader epoch, on top of the partition epoch that is in force (H21). Its
members must be alive and not shutting down (H20), under the broker epoch in which the leader saw them fetch. Proposals
that wait are written together; the answer has the state after the write. A proposal that is in force already, because
the answer to it was lost, is confirmed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.controller import leader_election as rules
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkastore.controller.context import Partition
    from kafkastore.controller.term import Term
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.protocol.alter_partition import AlterPartitionRequest, AlterPartitionRequestPartitionData
    from kafkastore.purgatory.turns import Turn

    Fields = dict[str, Any]


class Proposal(NamedTuple):
    """What an AlterPartition request proposes for one partition."""

    partition_index: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    broker_epochs: tuple[int, ...]  # of the members of isr, -1 where the leader does not know the epoch
    is_recovering: bool


async def alter_partitions(term: Term, requests: Sequence[AlterPartitionRequest]) -> list[Fields]:
    """The answers to several requests, whose changes are written together."""
    turn = term.turn()
    judged = [await _judge_request(term, turn, request) for request in requests]
    planned: dict[Partition, Leadership] = {}
    for of_request in judged:
        for partition, outcome in of_request.values() if isinstance(of_request, dict) else ():
            if partition is not None and isinstance(outcome, Proposal) and partition not in planned:
                planned[partition] = _proposed(term, partition, outcome)
    expected = {partition: partition.leadership for partition in planned}

    def rule(partition: Partition) -> Leadership | None:
        # the state was written meanwhile: the leader has to propose again on top of the new state
        return planned[partition] if partition.leadership is expected[partition] else None

    changed = set(await term.update(planned, rule))
    await term.channels.tell_all(changed)
    answers = []
    async for request, of_request in turn.each(zip(requests, judged, strict=True)):
        answers.append(_answer(request, of_request, changed))
    return answers


def error_answer(request: AlterPartitionRequest, error_code: int) -> Fields:
    """The answer that refuses the whole request."""
    return _answer(request, error_code, set())


_Judged = dict[tuple[bytes, int], tuple["Partition | None", "Proposal | int"]]


async def _judge_request(term: Term, turn: Turn, request: AlterPartitionRequest) -> _Judged | int:
    """Returns for each (topic id, partition) the partition, and the proposal or the error code. Returns one error code
    when the whole request is refused."""
    sender = term.context.brokers.get(request.broker_id)
    if sender is None or sender.epoch != request.broker_epoch:
        return ErrorCode.STALE_BROKER_EPOCH
    judged: _Judged = {}
    for of_topic in request.topics:
        topic_id = of_topic.topic_id or bytes(16)
        topic = term.context.topics_by_id.get(topic_id)
        async for one in turn.each(of_topic.partitions):
            key = topic_id, one.partition_index
            if topic is None or topic.is_deleting:
                judged[key] = None, ErrorCode.UNKNOWN_TOPIC_ID
            elif not 0 <= one.partition_index < len(topic.partitions):
                judged[key] = None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                partition = topic.partitions[one.partition_index]
                proposal = _proposal(one)
                error = _judge(term, partition, request.broker_id, proposal)
                judged[key] = partition, proposal if error is None else error
    return judged


def _proposal(data: AlterPartitionRequestPartitionData) -> Proposal:
    if data.new_isr:  # version 2
        isr, epochs = tuple(data.new_isr), (-1,) * len(data.new_isr)
    else:
        isr = tuple(one.broker_id for one in data.new_isr_with_epochs)
        epochs = tuple(one.broker_epoch for one in data.new_isr_with_epochs)
    return Proposal(
        data.partition_index, data.leader_epoch, data.partition_epoch, isr, epochs, data.leader_recovery_state == 1
    )


def _judge(term: Term, partition: Partition, sender: int, requested: Proposal) -> int | None:
    """Returns the error code, NONE when the proposal is in force already, None when the proposal is to be written."""
    state = partition.leadership
    if (
        state is None
        or requested.leader_epoch > state.leader_epoch
        or requested.partition_epoch > state.partition_epoch
    ):
        return ErrorCode.NOT_CONTROLLER  # the leader knows a newer state than this controller
    if requested.leader_epoch < state.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != state.leader:
        return ErrorCode.INVALID_REQUEST
    if _has(partition, requested):
        return ErrorCode.NONE
    if requested.partition_epoch < state.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if not _is_well_formed(partition, state, requested):
        return ErrorCode.INVALID_REQUEST
    for replica, epoch in zip(requested.isr, requested.broker_epochs, strict=True):
        if not _is_eligible(term, partition, replica, epoch):
            return ErrorCode.INELIGIBLE_REPLICA
    return None


def _is_well_formed(partition: Partition, state: Leadership, requested: Proposal) -> bool:
    if len(set(requested.isr)) != len(requested.isr) or not set(requested.isr) <= set(partition.replicas):
        return False
    if state.leader not in requested.isr:
        return False
    # a leader that recovers from an unclean election is alone in the isr; it may not begin a recovery itself (KIP-704)
    return not requested.is_recovering or (state.is_recovering and len(requested.isr) == 1)


def _is_eligible(term: Term, partition: Partition, replica: int, epoch: int) -> bool:
    context = term.context
    if not context.is_online(partition, replica) or replica in context.shutting_down:
        return False
    return epoch in (-1, context.brokers[replica].epoch)


def _proposed(term: Term, partition: Partition, requested: Proposal) -> Leadership:
    assert partition.leadership is not None
    return rules.with_isr(
        partition.leadership,
        requested.isr,
        partition.replicas,
        term.min_isr(partition),
        is_recovering=requested.is_recovering,
    )


# ---- answers
def _answer(request: AlterPartitionRequest, judged: _Judged | int, changed: Iterable[Partition]) -> Fields:
    topics: list[Fields] = []
    if not isinstance(judged, int):
        done = set(changed)
        for of_topic in request.topics:
            topic_id = of_topic.topic_id or bytes(16)
            partitions = [
                _partition_answer(one.partition_index, *judged[topic_id, one.partition_index], done)
                for one in of_topic.partitions
            ]
            topics.append({"topic_id": topic_id, "partitions": partitions})
    return {"error_code": judged if isinstance(judged, int) else ErrorCode.NONE, "topics": topics}


def _has(partition: Partition, requested: Proposal) -> bool:
    state = partition.leadership
    return (
        state is not None
        and sorted(state.isr) == sorted(requested.isr)
        and state.is_recovering == requested.is_recovering
    )


def _partition_answer(
    index: int, partition: Partition | None, outcome: Proposal | int, changed: set[Partition]
) -> Fields:
    error = outcome if isinstance(outcome, int) else 0
    if isinstance(outcome, Proposal) and not (partition in changed and _has(partition, outcome)):
        error = ErrorCode.INVALID_UPDATE_VERSION  # another change came first
    state = partition.leadership if partition is not None and error == 0 else None
    answer: Fields = {"partition_index": index, "error_code": error}
    if state is None:
        return answer | {"leader_id": 0, "leader_epoch": 0, "isr": (), "partition_epoch": 0}
    return answer | {
        "leader_id": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": state.isr,
        "leader_recovery_state": int(state.is_recovering),
        "partition_epoch": state.partition_epoch,
    }
