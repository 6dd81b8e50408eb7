"""Reads what the controller must know out of the store (spec R2.4). It never writes."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.controller.context import Topic
from kafkastore.metadata.assignment import decode_assigned
from kafkastore.metadata.broker_nodes import decode_registration
from kafkastore.metadata.leadership import decode_leadership
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.store import NoNodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.controller.context import ControllerContext
    from kafkastore.controller.watched_store import WatchedStore
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.metadata.store import MetadataStore

logger = logging.getLogger("kafkastore.controller.loading")

DELETION_MARKS = "/admin/delete_topics"


async def load_brokers(watched: WatchedStore) -> dict[int, Registration]:
    """The live brokers. The event ``brokers`` tells of the next that comes, goes or registers anew."""
    found = {}
    for name in await watched.get_children("/brokers/ids", "brokers"):
        try:
            node = await watched.get(f"/brokers/ids/{name}", "brokers")
        except NoNodeError:  # it died meanwhile; the watch says so
            continue
        found[int(name)] = decode_registration(int(name), node.data, node.created)
    return found


async def load_topics(store: MetadataStore, context: ControllerContext) -> None:
    """Fills ``context`` with all topics, those being deleted too."""
    below = []
    decoded: dict[tuple[bytes, int], Leadership] = {}  # equal states share one object
    for path, data, version in await store.get_tree("/brokers/topics"):
        parts = path.split("/")  # "", brokers, topics, T, partitions, P, state
        if len(parts) == 4:
            if (topic := _decode(parts[3], data, version)) is not None:
                context.put_topic(topic)
        else:
            below.append((parts, data, version))
    for parts, data, version in below:
        if (found := context.topics.get(parts[3])) is not None:
            _take_state(found, parts, data, version, decoded)
    await load_configs(store, context.topics.values())
    for path, data, _ in await store.get_tree(DELETION_MARKS):
        marked = context.topics.get(path.rpartition("/")[2])
        if marked is not None and is_mark_of(data, marked):
            marked.is_deleting = True


def is_mark_of(data: bytes, topic: Topic) -> bool:
    """Whether a mark asks for the deletion of this topic, and not of one that had its name."""
    return data in (b"", topic.topic_id)


async def load_topic(store: MetadataStore, name: str) -> Topic | None:
    """One topic with its configuration and states, or None when there is none."""
    try:
        node = await store.get(f"/brokers/topics/{name}")
    except NoNodeError:
        return None
    topic = _decode(name, node.data, node.version)
    if topic is None:
        return None
    with suppress(NoNodeError):
        _take_configs(topic, (await store.get(f"/config/topics/{name}")).data)
    for path, data, version in await store.get_tree(topic.path):
        _take_state(topic, path.split("/"), data, version, {})
    return topic


def _decode(name: str, data: bytes, version: int) -> Topic | None:
    try:
        return Topic(name, *decode_assigned(data), version)
    except (ValueError, KeyError, TypeError, AttributeError) as error:  # written by hand: as with configurations
        logger.warning("The node of topic %s is wrong; there is no such topic until it is mended: %r", name, error)
        return None


async def load_configs(store: MetadataStore, topics: Iterable[Topic]) -> None:
    found = {path.rpartition("/")[2]: data for path, data, _ in await store.get_tree("/config/topics")}
    for topic in topics:
        _take_configs(topic, found.get(topic.name, b""))


def _take_configs(topic: Topic, data: bytes) -> None:
    try:
        topic.configs = decode_config(data)
    except (ValueError, AttributeError) as error:  # written by hand: one topic must not end the control of all
        logger.warning("The configuration of topic %s is wrong and stays as it was: %s", topic.name, error)


def _take_state(
    topic: Topic, parts: list[str], data: bytes, version: int, decoded: dict[tuple[bytes, int], Leadership]
) -> None:
    if len(parts) == 5:
        topic.has_folder = True
    elif len(parts) > 5 and int(parts[5]) < len(topic.partitions):
        partition = topic.partitions[int(parts[5])]
        partition.has_folder = True
        if len(parts) == 7:
            state = decoded.get((data, version))
            if state is None:
                state = decoded[data, version] = decode_leadership(data, version)
            partition.leadership = state
