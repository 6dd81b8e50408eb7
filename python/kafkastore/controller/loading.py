"""Reads what the controller must know out of the store (spec R2.4). It never writes.

Whoever reaches the store may have written nonsense into a node: it is named at level ERROR and left out, and the others stand. Of a
partition whose state is nonsense nothing is decided, since nobody can say who has what was committed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.controller.context import Topic
from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.broker_nodes import decode_registration
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.nonsense import NonsenseError, check_topic_name, decimal, report
from kafkastore.metadata.store import NoNodeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkastore.controller.context import ControllerContext
    from kafkastore.controller.watched_store import WatchedStore
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.metadata.store import MetadataStore

DELETION_MARKS = "/admin/delete_topics"


async def load_brokers(watched: WatchedStore, known: Mapping[int, Registration]) -> dict[int, Registration]:
    """The live brokers. The event ``brokers`` tells of the next that comes, goes or registers anew. A registration that is nonsense
    is named; the broker is as it was known in this life, or not there."""
    found = {}
    for name in await watched.get_children("/brokers/ids", "brokers"):
        path = f"/brokers/ids/{name}"
        try:
            node = await watched.get(path, "brokers")
        except NoNodeError:  # it died meanwhile; the watch says so
            continue
        before = known.get(int(name)) if name.isdecimal() else None
        try:
            node_id = decimal(name, "its name")
            found[node_id] = decode_registration(node_id, node.data, node.created)
        except NonsenseError as error:
            is_known = before is not None and before.epoch == node.created
            report(path, "the broker is as before" if is_known else "the broker is not there", error)
            if before is not None and is_known:
                found[before.node_id] = before
    return found


async def load_topics(watched: WatchedStore, context: ControllerContext) -> None:
    """Fills ``context`` with all topics, those being deleted too."""
    store = watched.store
    below = []
    decoded: dict[tuple[bytes, int], Leadership] = {}  # equal states share one object
    for path, data, version in await store.get_tree("/brokers/topics"):
        parts = path.split("/")  # "", brokers, topics, T, partitions, P, state
        if len(parts) > 4:
            below.append((parts, data, version))
        elif (topic := await _topic(watched, context, parts[3], data, version)) is not None:
            context.put_topic(topic)
    for parts, data, version in below:
        if (found := context.topics.get(parts[3])) is not None:
            await _take_state(watched, context, found, parts, data, version, decoded)
    await load_configs(store, context.topics.values())
    for path, data, _ in await store.get_tree(DELETION_MARKS):
        marked = context.topics.get(path.rpartition("/")[2])
        if marked is not None and is_mark_of(data, marked):
            marked.is_deleting = True


def is_mark_of(data: bytes, topic: Topic) -> bool:
    """Whether a mark asks for the deletion of this topic, and not of one that had its name."""
    return data in (b"", topic.topic_id)


async def load_topic(watched: WatchedStore, context: ControllerContext, name: str) -> Topic | None:
    """One topic with its configuration and states, or None when there is none, or none that can be read."""
    store = watched.store
    try:
        node = await store.get(f"/brokers/topics/{name}")
    except NoNodeError:
        return None
    topic = await _topic(watched, context, name, node.data, node.version)
    if topic is None:
        return None
    with suppress(NoNodeError):
        _take_configs(topic, (await store.get(f"/config/topics/{name}")).data)
    for path, data, version in await store.get_tree(topic.path):
        await _take_state(watched, context, topic, path.split("/"), data, version, {})
    return topic


async def _topic(
    watched: WatchedStore, context: ControllerContext, name: str, data: bytes, version: int
) -> Topic | None:
    try:
        check_topic_name(name)
        return Topic(name, *decode_assigned(data), version)
    except NonsenseError as error:
        await _leave_alone(watched, context, f"/brokers/topics/{name}", error)
        return None


async def _leave_alone(watched: WatchedStore, context: ControllerContext, path: str, error: NonsenseError) -> None:
    """The event ``spoiled`` tells when somebody has changed it."""
    report(path, "it is left alone until somebody mends it", error)
    context.spoiled.add(path)
    await watched.exists(path, "spoiled")


async def load_configs(store: MetadataStore, topics: Iterable[Topic]) -> None:
    found = {path.rpartition("/")[2]: data for path, data, _ in await store.get_tree("/config/topics")}
    for topic in topics:
        _take_configs(topic, found.get(topic.name, b""))


def _take_configs(topic: Topic, data: bytes) -> None:
    try:
        topic.configs = decode_config(data)
    except NonsenseError as error:  # one topic must not end the control of all
        report(f"/config/topics/{topic.name}", "the configuration stays as it was", error)


async def _take_state(
    watched: WatchedStore,
    context: ControllerContext,
    topic: Topic,
    parts: list[str],
    data: bytes,
    version: int,
    decoded: dict[tuple[bytes, int], Leadership],
) -> None:
    if len(parts) == 5:
        topic.has_folder = True
    elif len(parts) > 5 and parts[5].isdecimal() and int(parts[5]) < len(topic.partitions):
        partition = topic.partitions[int(parts[5])]
        partition.has_folder = True
        if parts[6:] == ["state"]:
            try:
                state = decoded.get((data, version))
                if state is None:
                    state = decoded[data, version] = decode_leadership(data, version)
                partition.leadership = state
            except NonsenseError as error:
                partition.is_spoiled = True
                await _leave_alone(watched, context, f"{partition.folder}/state", error)
