"""Moves partitions to other brokers (KIP-455). RAR are the target replicas, OAR the original ones.

A  requested    One write sets the replicas to RAR and OAR, with adding and removing, and raises the partition epoch.
                All of these replicas get LeaderAndIsr.
B  catching up  Nothing changes until all of RAR are in sync, which the leader's AlterPartition shows.
C  complete     One write sets the replicas to RAR, the in-sync set to its members in RAR, and a leader in RAR under
                a new leader epoch. The other replicas of OAR are *pending deletion*: their brokers get StopReplica.
D  deleted      A broker has answered StopReplica: its deletion is no longer pending. A broker that is away gets the
                request when it is back.

Another target, or a cancellation, during A and B keeps OAR as the origin. Added replicas that are not in the next
target are pending deletion. Added replicas that are in it are not started anew: they may be in sync. All of this stands
in the topic's node. A new controller reads it there and goes on: :func:`advance` derives the next step from the node
after each event, and remembers no progress. Replicas leave the sets, the replicas and the leadership in one write, so
no broker leads a partition of which it is not a replica.

This module copies no data: followers fetch. A change is written to the store first and sent to brokers afterwards.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.config.removed import refusal
from kafkastore.controller import leader_election as rules
from kafkastore.controller.states import ReplicaState
from kafkastore.controller.topic_deletion import delete_replica
from kafkastore.errors import (
    InvalidReplicaAssignmentError,
    KafkastoreError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from kafkastore.metadata.assignment import encode_in_steps, paced
from kafkastore.metadata.store import SetData
from kafkastore.topic.checks import check_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkastore.controller.context import Partition, Topic
    from kafkastore.controller.term import Term
    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.leadership import Leadership

    Key = tuple[str, int]
    Change = tuple[ReplicaAssignment, Leadership | None]
    Changes = dict[Topic, dict[Partition, Change]]

logger = logging.getLogger("kafkastore.controller.reassignment")

NAMED = 20
"""The most partitions of a request, or of those complete at once, that have a line of the log each."""

PARTITIONS_AT_ONCE = 200
"""The most partitions in one write: with the topic's node they must fit one ``multi``, which is all or nothing."""


# ---- asked for
async def judge(
    term: Term, requested: Mapping[Key, Sequence[int] | None], *, allows_factor_change: bool
) -> tuple[dict[Key, KafkastoreError | None], Changes]:
    """Checks reassignments to begin, to replace and, where the target is None, to cancel. Returns for each (topic,
    partition) why it is refused, or None; and the changes that the other reassignments make."""
    outcomes: dict[Key, KafkastoreError | None] = {}
    todo: Changes = {}
    async for key, target in term.turn().each(requested.items()):
        outcomes[key] = None
        try:
            partition = _existing(term, key)
            change = _requested_change(term, partition, target, allows_factor_change=allows_factor_change)
        except KafkastoreError as error:
            outcomes[key] = error
        else:
            if change[0] != partition.assigned:
                todo.setdefault(partition.topic, {})[partition] = change
    return outcomes, todo


async def begin(term: Term, todo: Changes) -> None:
    """Writes the changes that :func:`judge` returned, and sends them to the brokers. A reassignment has ended when
    :func:`under_way` no longer has it."""
    for topic, changes in todo.items():
        await _write(term, topic, changes)
    begun = [(partition, assigned) for changes in todo.values() for partition, (assigned, _) in changes.items()]
    for partition, assigned in begun[:NAMED]:
        logger.info("%s moves to %s, from %s", partition, list(assigned.target), list(assigned.origin))
    if len(begun) > NAMED:
        logger.info("%d more partitions move", len(begun) - NAMED)


def _existing(term: Term, key: Key) -> Partition:
    name, number = key
    topic = term.context.topics.get(name)
    if topic is None or topic.is_deleting:
        raise UnknownTopicOrPartitionError(f"Unable to find a topic named {name}.")
    partition = term.context.partition(name, number)
    if partition is None:
        raise UnknownTopicOrPartitionError(f"Unable to find partition {name}:{number}.")
    return partition


def _requested_change(
    term: Term, partition: Partition, target: Sequence[int] | None, *, allows_factor_change: bool
) -> Change:
    """Returns the change that the request makes to the partition. Raises the error that the partition is answered."""
    current = partition.assigned
    if target is None:
        if not current.is_moving:
            raise NoReassignmentInProgressError
        target = current.origin
    else:
        check_target(target, term.context.brokers, None if allows_factor_change else len(current.target))
        for replica in target:
            if replica in term.settings.removed_brokers and replica not in current.replicas:
                raise InvalidReplicaAssignmentError(refusal(replica))
    assigned, state = current.moved_to(target), partition.leadership
    if state is not None and not set(current.replicas).issubset(assigned.replicas):
        usable = term.context.usable_of(partition, term.context.usable())
        state = rules.drop_replicas(state, assigned.replicas, usable, term.min_isr(partition))
        if state is None:
            raise InvalidReplicaAssignmentError(
                f"Unable to take the added replicas from {partition}: too few of the others are in sync."
            )
    return assigned, state


async def under_way(term: Term) -> dict[Key, ReplicaAssignment]:
    """The reassignments that are not complete, by (topic, partition)."""
    return {
        (partition.topic.name, partition.number): partition.assigned
        async for run in term.turn().runs(list(term.context.moving))
        for partition in run
        if partition.assigned.is_moving and not partition.topic.is_deleting
    }


# ---- the next steps of reassignments under way
async def resume(term: Term) -> None:
    """Goes on with the reassignments that an earlier controller left. The brokers get them with the full state."""

    def delete(partition: Partition) -> None:
        if not partition.topic.is_deleting:
            _delete_pending(term, partition, partition.assigned.pending_deletion)

    await term.each(list(term.context.moving), delete)
    await advance(term)


async def advance(term: Term) -> None:
    """Completes the reassignments that can be completed, and removes deleted replicas from those pending deletion."""
    todo: Changes = {}

    def look(partition: Partition) -> None:
        if partition.topic.is_deleting:
            return
        change = _completion(term, partition) if partition.assigned.is_moving else None
        change = change or _settlement(partition)
        if change is not None:
            todo.setdefault(partition.topic, {})[partition] = change

    await term.each(list(term.context.moving), look)
    completed = [
        (partition, state)
        for changes in todo.values()
        for partition, (_, state) in changes.items()
        if partition.assigned.is_moving and state is not None
    ]
    for partition, state in completed[:NAMED]:
        logger.info("%s is on %s, led by %d", partition, list(partition.assigned.target), state.leader)
    if len(completed) > NAMED:
        logger.info("%d more moves are complete", len(completed) - NAMED)
    for topic, changes in todo.items():
        await _write(term, topic, changes)


def _completion(term: Term, partition: Partition) -> Change | None:
    state, assigned = partition.leadership, partition.assigned
    if state is None:
        return None
    usable = term.context.usable_of(partition, term.context.usable())
    changed = rules.complete_reassignment(state, assigned.target, usable)
    if changed is None:
        return None
    return assigned.completed(), changed


def _settlement(partition: Partition) -> Change | None:
    states, pending = partition.replica_states, partition.assigned.pending_deletion
    deleted = {replica for replica in pending if states[replica] is ReplicaState.DELETION_SUCCESSFUL}
    return (partition.assigned.without_deleted(deleted), None) if deleted else None


# ---- one write for many partitions of a topic
async def _write(term: Term, topic: Topic, changes: Mapping[Partition, Change]) -> None:
    """Writes assignments and states, in one ``multi`` for each PARTITIONS_AT_ONCE. Raises the store's errors: the
    controller then reads everything again before it decides anything else."""
    items = list(changes.items())
    turn = term.turn()
    for first in range(0, len(items), PARTITIONS_AT_ONCE):
        await turn.give_way()
        some = dict(items[first : first + PARTITIONS_AT_ONCE])
        assigned = [some[one][0] if one in some else one.assigned for one in topic.partitions]
        node = SetData(topic.path, await paced(encode_in_steps(topic.topic_id, assigned), turn.give_way), topic.version)
        states = {partition: state for partition, (_, state) in some.items() if state is not None}
        await term.update(states, states.get, [node])
        topic.version += 1
        added = {
            partition: [one for one in new.adding if one not in partition.replicas]
            for partition, (new, _) in some.items()
        }
        for partition, (new, _) in some.items():
            _take_over(term, partition, new)
        await term.channels.tell_replicas(states)
        for partition, replicas in added.items():
            for replica in replicas:
                term.channels.tell_broker(replica, [partition], is_new=True)
        await term.channels.tell_all(states)


def _take_over(term: Term, partition: Partition, assigned: ReplicaAssignment) -> None:
    dropped = [replica for replica in partition.replicas if replica not in assigned.replicas]
    partition.reassign(assigned)
    term.context.note_moving(partition)
    term.note_replicas(partition)
    _delete_pending(term, partition, dropped)


def _delete_pending(term: Term, partition: Partition, replicas: Sequence[int]) -> None:
    for replica in replicas:
        partition.move_replica(replica, ReplicaState.OFFLINE)
        delete_replica(term, [partition], replica)
