"""Deletes topics: a topic is marked in ``/admin/delete_topics``, every replica is sent StopReplica, and the topic's
nodes are deleted from the store when all replicas are deleted.

A replica whose broker is not alive is ineligible until the broker is back. The topic stays marked until then, since a
new topic of the same name would find the old log there. A mark outlives the controller; the next controller sends
StopReplica to all replicas again.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.controller.loading import DELETION_MARKS, is_mark_of
from kafkastore.controller.states import PartitionStatus, ReplicaState
from kafkastore.errors import ErrorCode, UnknownTopicOrPartitionError
from kafkastore.metadata.store import Create, Delete, NodeExistsError, NoNodeError, NotEmptyError, child_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kafkastore.controller.context import Partition, Topic
    from kafkastore.controller.term import Term
    from kafkastore.interbroker.orders import OrderAnswer, StoppedReplica, StopReplica
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.store import Operation
    from kafkastore.purgatory.turns import Turn

logger = logging.getLogger("kafkastore.controller.topics")


async def delete_topics(term: Term, names: Sequence[str]) -> list[Topic | UnknownTopicOrPartitionError]:
    """Returns when the deletions are decided, in one write; a deletion ends when all replicas are deleted
    (:func:`is_under_way`)."""
    found = [term.context.topics.get(name) for name in names]
    new = [topic for topic in found if topic is not None and not topic.is_deleting]
    try:
        await term.writer.write([_mark(topic) for topic in new])
    except NodeExistsError:  # another client of the store marked a topic itself
        for topic in new:
            with suppress(NodeExistsError):
                await term.writer.write([_mark(topic)])
    await term.log_topics(logger, "Deleting topics", [topic.name for topic in new])
    await _begin(term, new)
    return [UnknownTopicOrPartitionError() if topic is None else topic for topic in found]


def _mark(topic: Topic) -> Create:
    return Create(f"{DELETION_MARKS}/{topic.name}")


def is_under_way(term: Term, topic: Topic) -> bool:
    """Whether the deletion waits only for brokers' answers: StopReplica is on its way to all replicas that are left."""
    return term.context.topics.get(topic.name) is topic and not topic.held_up


def has_failed(term: Term, topic: Topic) -> bool:
    """Whether a live broker could not delete a replica; the broker is sent StopReplica again after its restart."""
    is_there = term.context.topics.get(topic.name) is topic
    return is_there and topic.held_up > 0 and any(broker in term.context.brokers for broker in _held_up(topic))


def _held_up(topic: Topic) -> Iterator[int]:
    """Brokers that have to come back before the deletion goes on."""
    for partition in topic.partitions:
        for broker, state in partition.replica_states.items():
            if state is ReplicaState.DELETION_INELIGIBLE:
                yield broker


async def on_deletions(term: Term) -> None:
    """Handles the marks that another client of the store made."""
    await term.watched.get_children(DELETION_MARKS, "deletions")
    async for path, data, _ in term.turn().each(await term.store.get_tree(DELETION_MARKS)):
        name = child_in(DELETION_MARKS, path)
        topic = term.context.topics.get(name)
        if topic is not None and is_mark_of(data, topic):
            if not topic.is_deleting:
                logger.info("Deleting topic %s, which another client of the store has marked", name)
                await _begin(term, [topic])
        elif f"/brokers/topics/{name}" in term.context.invalid:
            continue
        elif (
            name and not data
        ):  # with an id in it, an earlier version of a broker that was alone has left it for its next start
            await _drop_mark(term, name)


async def resume(term: Term) -> None:
    """Goes on with the deletions that an earlier controller left."""
    left = [one for one in term.context.topics.values() if one.is_deleting]
    await term.log_topics(logger, "Deleting topics, as an earlier controller decided:", [topic.name for topic in left])
    await _begin(term, left)
    await on_deletions(term)


async def on_brokers_gone(term: Term, gone: Collection[int]) -> None:
    async for run in term.turn().runs(_being_deleted(term)):
        for partition in run:
            for replica, state in partition.replica_states.items():
                if replica in gone and state is ReplicaState.DELETION_STARTED:
                    partition.move_replica(replica, ReplicaState.DELETION_INELIGIBLE)


async def on_brokers_joined(term: Term, joined: Collection[int]) -> None:
    doomed = [topic for topic in term.context.topics.values() if topic.is_deleting]
    if doomed:  # before StopReplica: a broker that was away does not know that the topic is deleted
        await term.channels.tell_all(partition for topic in doomed for partition in topic.partitions)
    async for run in term.turn().runs(_being_deleted(term)):
        for partition in run:
            for replica, state in partition.replica_states.items():
                if replica in joined and state is ReplicaState.DELETION_INELIGIBLE:
                    partition.move_replica(replica, ReplicaState.OFFLINE)
                    delete_replica(term, [partition], replica)


async def on_stop_replica_answer(term: Term, broker: Registration, order: StopReplica, answer: OrderAnswer) -> None:
    """Notes which replicas are deleted, and deletes from the store the topics whose replicas all are. Replicas that a
    reassignment removed are only noted: ``reassignment.advance`` finds them. An answer under an earlier broker epoch is
    ignored: it is not about the requests that the broker was sent since."""
    known = term.context.brokers.get(broker.node_id)
    if known is None or known.epoch != broker.epoch:
        return
    touched: dict[Topic, None] = {}

    def note(one: StoppedReplica) -> None:
        partition = term.context.partition(one.topic, one.partition)
        if partition is None or not one.is_deleted:
            return
        if partition.replica_states.get(broker.node_id) is not ReplicaState.DELETION_STARTED:
            return
        code = answer.error_code or answer.errors.get((one.topic, one.partition), ErrorCode.NONE)
        is_done = code == ErrorCode.NONE
        partition.move_replica(
            broker.node_id, ReplicaState.DELETION_SUCCESSFUL if is_done else ReplicaState.DELETION_INELIGIBLE
        )
        touched[partition.topic] = None

    await term.each(order.stopped, note)
    turn = term.turn()
    deleted = [topic async for topic in turn.each(touched) if topic.is_deleting and await _is_deleted(topic, turn)]
    if deleted:
        await _complete(term, deleted)


# ---- inside
async def _begin(term: Term, topics: Sequence[Topic]) -> None:
    """Sends UpdateMetadata of all these topics, then StopReplica: clients no longer see the topics while the brokers
    still delete logs."""
    doomed: dict[int, list[Partition]] = {}

    def note(partition: Partition) -> None:
        partition.move(PartitionStatus.OFFLINE)
        partition.move(PartitionStatus.NON_EXISTENT)
        for replica, state in partition.replica_states.items():
            if state in (ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE):  # else a move deletes it
                partition.move_replica(replica, ReplicaState.OFFLINE)
                doomed.setdefault(replica, []).append(partition)

    for topic in topics:
        topic.is_deleting = True
    all_partitions = [partition for topic in topics for partition in topic.partitions]
    await term.each(all_partitions, note)
    await term.channels.tell_all(all_partitions)
    for replica, partitions in doomed.items():
        async for run in term.turn().runs(partitions):
            delete_replica(term, run, replica)


def delete_replica(term: Term, partitions: Sequence[Partition], replica: int) -> None:
    """Deletes the replicas on broker ``replica`` of a few partitions, which are offline; when the broker is not alive,
    they are deleted after it is back."""
    is_there = replica in term.context.brokers
    for partition in partitions:
        partition.move_replica(replica, ReplicaState.DELETION_STARTED if is_there else ReplicaState.DELETION_INELIGIBLE)
    if is_there:
        term.channels.stop_replica(replica, partitions, is_deleted=True)


def _being_deleted(term: Term) -> Iterable[Partition]:
    """The partitions that may have replicas in a state of deletion: those of topics that are being deleted, and those
    that a reassignment moves."""
    topics = [topic for topic in term.context.topics.values() if topic.is_deleting]
    return dict.fromkeys(partition for topic in topics for partition in topic.partitions) | term.context.moving


async def _is_deleted(topic: Topic, turn: Turn) -> bool:
    async for run in turn.runs(topic.partitions):
        for partition in run:
            if any(state is not ReplicaState.DELETION_SUCCESSFUL for state in partition.replica_states.values()):
                return False
    return True


async def _complete(term: Term, topics: Sequence[Topic]) -> None:
    """Deletes the topics' nodes. The mark of each topic goes last: after a crash before that the deletion resumes."""
    turn = term.turn()
    try:
        known: list[Operation] = []
        async for topic in turn.each(topics):
            await _add_known_nodes(term, topic, known)
            known += [Delete(f"/config/topics/{topic.name}"), Delete(f"{DELETION_MARKS}/{topic.name}")]
        await term.writer.write(known)
    except (NoNodeError, NotEmptyError):  # another client created or deleted nodes; a first part may be written
        found: list[Operation] = []
        async for topic in turn.each(topics):
            for path in (topic.path, f"/config/topics/{topic.name}", f"{DELETION_MARKS}/{topic.name}"):
                found += await term.store.delete_tree(path, turn.give_way)
        await term.writer.write(found)

    def end(partition: Partition) -> None:
        for replica in partition.replicas:
            partition.move_replica(replica, ReplicaState.NON_EXISTENT)

    async for topic in term.turn().each(topics):
        await term.each(topic.partitions, end)
        term.context.remove_topic(topic)
    await term.log_topics(logger, "Deleted topics", [topic.name for topic in topics])


async def _add_known_nodes(term: Term, topic: Topic, operations: list[Operation]) -> None:
    """Adds the operations that delete the known nodes of a topic, without reading the store: two reads for each topic
    would be most of the cost of deleting 500 topics."""

    def note(partition: Partition) -> None:
        if partition.leadership is not None:
            operations.append(Delete(f"{partition.folder}/state"))
        if partition.has_folder:
            operations.append(Delete(partition.folder))

    await term.each(topic.partitions, note)
    if topic.has_folder:
        operations.append(Delete(f"{topic.path}/partitions"))
    operations.append(Delete(topic.path))


async def _drop_mark(term: Term, name: str) -> None:
    """Deletes the mark and the configuration of a topic that no longer exists."""
    for path in (f"/config/topics/{name}", f"{DELETION_MARKS}/{name}"):
        with suppress(NoNodeError):  # another client was faster
            await term.writer.delete(path)
