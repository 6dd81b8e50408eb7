"""Reads brokers and topics from the store for the controller's context; ``metadata/stored_topics.py`` reads
the topics' nodes. It never writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.controller.context import Partition, Topic
from kafkastore.metadata.broker_nodes import decode_registration
from kafkastore.metadata.node_content import InvalidNodeError, decimal, report
from kafkastore.metadata.store import NoNodeError, child_in
from kafkastore.metadata.stored_topics import TOPICS, UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from kafkastore.controller.context import ControllerContext
    from kafkastore.controller.watched_store import WatchedStore
    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.metadata.stored_topics import LoadedTopics, StoredTopics
    from kafkastore.purgatory.turns import Turn

DELETION_MARKS = "/admin/delete_topics"


async def load_brokers(watched: WatchedStore, known: Mapping[int, Registration]) -> dict[int, Registration]:
    """The live brokers by node id. The event ``brokers`` fires when a broker comes, goes or registers anew. An invalid
    registration is logged; its broker keeps the registration known for the same epoch, or counts as not alive."""
    found = {}
    for name in await watched.get_children("/brokers/ids", "brokers"):
        path = f"/brokers/ids/{name}"
        try:
            node = await watched.get(path, "brokers")
        except NoNodeError:  # the broker died meanwhile; the watch fires
            continue
        before = known.get(int(name)) if name.isdecimal() else None
        try:
            node_id = decimal(name, "its name")
            found[node_id] = decode_registration(node_id, node.data, node.created)
        except InvalidNodeError as error:
            is_known = before is not None and before.epoch == node.created
            report(path, "the broker is as before" if is_known else "the broker is not there", error)
            if before is not None and is_known:
                found[before.node_id] = before
    return found


async def load_topics(
    watched: WatchedStore,
    context: ControllerContext,
    stored: StoredTopics,
    complete: Callable[[LoadedTopics], Awaitable[LoadedTopics]],
    turn: Turn,
) -> list[Topic]:
    """All topics, those being deleted too. Notes invalid nodes in ``context``. ``complete`` is ``topic_nodes.complete``
    with its first arguments bound."""
    topics = await take(watched, context, await complete(await stored.load(turn.give_way)), turn)
    marks = {child_in(DELETION_MARKS, path): data for path, data, _ in await watched.store.get_tree(DELETION_MARKS)}
    for topic in topics:
        topic.is_deleting = topic.name in marks and is_mark_of(marks[topic.name], topic)
    return topics


def is_mark_of(data: bytes, topic: Topic) -> bool:
    """Whether a mark asks for the deletion of this topic, and not of an earlier topic of the same name."""
    return data in (b"", topic.topic_id)


def _partition(
    topic: Topic, number: int, assigned: ReplicaAssignment, states: Mapping[int, Leadership | None]
) -> Partition:
    partition = Partition(topic, number, assigned)
    if number in states:
        partition.has_folder = True
        partition.is_invalid = states[number] is UNREADABLE
        partition.leadership = None if partition.is_invalid else states[number]
    return partition


async def take(watched: WatchedStore, context: ControllerContext, loaded: LoadedTopics, turn: Turn) -> list[Topic]:
    """Makes the controller's topics of loaded ones. The event ``invalid`` fires when an invalid node was changed."""
    invalid = [f"{TOPICS}/{name}" for name in loaded.invalid]
    topics = []
    async for stored in turn.each(loaded.topics.values()):
        assert stored.topic_id is not None, "it was completed"
        topic = Topic(stored.name, stored.topic_id, (), stored.version)
        topic.configs, topic.has_folder = stored.configs, stored.has_folder
        async for run in turn.runs(enumerate(stored.assigned)):
            topic.partitions += [_partition(topic, number, assigned, stored.states) for number, assigned in run]
        invalid += [f"{one.folder}/state" for one in topic.partitions if one.is_invalid]
        topics.append(topic)
    context.invalid.update(invalid)
    for path in invalid:
        await watched.exists(path, "invalid")
    return topics
