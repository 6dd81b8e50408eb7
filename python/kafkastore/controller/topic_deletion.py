"""Deletes topics: marked in ``/admin/delete_topics``, told to every replica, gone from the store when all have answered.

A replica whose broker is away is ineligible until it is back, and the topic stays marked until then: a topic made anew under
the name would find the old log there. A mark outlives the controller; the next one begins again at the replicas.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkastore.controller.loading import DELETION_MARKS, is_mark_of
from kafkastore.controller.states import PartitionStatus, ReplicaState
from kafkastore.errors import ErrorCode, UnknownTopicOrPartitionError
from kafkastore.metadata.store import Create, Delete, NodeExistsError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kafkastore.controller.context import Partition, Topic
    from kafkastore.controller.term import Term
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.store import Operation

logger = logging.getLogger("kafkastore.controller")


async def delete_topic(term: Term, name: str) -> None:
    """Returns when the deletion is decided; it ends when all replicas are gone. Raises UnknownTopicOrPartitionError."""
    topic = term.context.topics.get(name)
    if topic is None:
        raise UnknownTopicOrPartitionError
    if not topic.is_deleting:
        with suppress(NodeExistsError):  # somebody marked it directly
            await term.writer.write([Create(f"{DELETION_MARKS}/{name}")])
        _begin(term, topic)


async def on_deletions(term: Term) -> None:
    """Topics that others marked."""
    await term.watched.get_children(DELETION_MARKS, "deletions")
    for path, data, _ in await term.store.get_tree(DELETION_MARKS):
        name = path.rpartition("/")[2]
        topic = term.context.topics.get(name)
        if topic is not None and is_mark_of(data, topic):
            if not topic.is_deleting:
                _begin(term, topic)
        elif f"/brokers/topics/{name}" in term.context.spoiled:
            continue
        elif not data:  # one with an id in it is a broker's note on logs that it has yet to delete
            await _drop_mark(term, name)


async def resume(term: Term) -> None:
    """Goes on with what an earlier controller left."""
    for topic in [one for one in term.context.topics.values() if one.is_deleting]:
        _begin(term, topic)
    await on_deletions(term)


def on_brokers_gone(term: Term, gone: Collection[int]) -> None:
    for partition in _being_deleted(term):
        for replica, state in partition.replica_states.items():
            if replica in gone and state is ReplicaState.DELETION_STARTED:
                partition.move_replica(replica, ReplicaState.DELETION_INELIGIBLE)


def on_brokers_joined(term: Term, joined: Collection[int]) -> None:
    for partition in _being_deleted(term):
        for replica, state in partition.replica_states.items():
            if replica in joined and state is ReplicaState.DELETION_INELIGIBLE:
                partition.move_replica(replica, ReplicaState.OFFLINE)
                delete_replica(term, partition, replica)


async def on_stop_replica_answer(term: Term, broker: Registration, request: Any, answer: Any) -> None:
    """Notes which replicas are deleted; the topics of which all are go from the store. Those that a reassignment took away it
    finds itself."""
    failed = {
        (one.topic_name, one.partition_index) for one in answer.partition_errors if one.error_code != ErrorCode.NONE
    }
    touched: dict[Topic, None] = {}
    for of_topic in request.topic_states:
        for one in of_topic.partition_states:
            partition = term.context.partition(of_topic.topic_name, one.partition_index)
            if partition is None or not one.delete_partition:
                continue
            if partition.replica_states.get(broker.node_id) is not ReplicaState.DELETION_STARTED:
                continue
            is_done = answer.error_code == ErrorCode.NONE and (of_topic.topic_name, partition.number) not in failed
            partition.move_replica(
                broker.node_id, ReplicaState.DELETION_SUCCESSFUL if is_done else ReplicaState.DELETION_INELIGIBLE
            )
            touched[partition.topic] = None
    for topic in touched:
        if topic.is_deleting and _is_deleted(topic):
            await _complete(term, topic)


# ---- inside
def _begin(term: Term, topic: Topic) -> None:
    logger.info("Deleting topic %s", topic.name)
    topic.is_deleting = True
    for partition in topic.partitions:
        partition.move(PartitionStatus.OFFLINE)
        partition.move(PartitionStatus.NON_EXISTENT)
        for replica, state in list(partition.replica_states.items()):
            if state in (ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE):  # others a reassignment deletes
                partition.move_replica(replica, ReplicaState.OFFLINE)
                delete_replica(term, partition, replica)
    term.channels.tell_all(topic.partitions)


def delete_replica(term: Term, partition: Partition, replica: int) -> None:
    """Of an offline replica, now or when its broker is back."""
    if replica in term.context.brokers:
        partition.move_replica(replica, ReplicaState.DELETION_STARTED)
        term.channels.stop_replica(replica, [partition], is_deleted=True)
    else:
        partition.move_replica(replica, ReplicaState.DELETION_INELIGIBLE)


def _being_deleted(term: Term) -> Iterable[Partition]:
    """With replicas in a state of deletion: of topics that go, and of those that a reassignment has taken replicas from."""
    topics = [topic for topic in term.context.topics.values() if topic.is_deleting]
    return dict.fromkeys(partition for topic in topics for partition in topic.partitions) | term.context.moving


def _is_deleted(topic: Topic) -> bool:
    return all(
        state is ReplicaState.DELETION_SUCCESSFUL
        for partition in topic.partitions
        for state in partition.replica_states.values()
    )


async def _complete(term: Term, topic: Topic) -> None:
    """The mark goes last: a crash before leaves a deletion to resume."""
    operations: list[Operation] = await term.store.delete_tree(topic.path)
    operations += await term.store.delete_tree(f"/config/topics/{topic.name}")
    await term.writer.write([*operations, Delete(f"{DELETION_MARKS}/{topic.name}")])
    for partition in topic.partitions:
        for replica in partition.replicas:
            partition.move_replica(replica, ReplicaState.NON_EXISTENT)
    term.context.remove_topic(topic)
    logger.info("Deleted topic %s", topic.name)


async def _drop_mark(term: Term, name: str) -> None:
    """The mark of a topic that is gone."""
    operations = await term.store.delete_tree(f"/config/topics/{name}")
    await term.writer.write([*operations, Delete(f"{DELETION_MARKS}/{name}")])
