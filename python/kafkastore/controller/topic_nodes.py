"""Topic nodes that other clients write: the tools of Kafka up to 2.x, which know no topic ids, and people.

``/brokers/topics/T`` is read in versions 1 to 3. A node without an id gets one and is written anew as version 3, as
Apache Kafka 2.8 did when it was upgraded; the id is, in this order
A. the id that this controller, or the broker that it runs in, knows for the topic;
B. the id in the logs on the disks: brokers register it (``topic_ids``), and brokers in the isr come first;
C. a new id, when the topic was never served, or when a broker with an in-sync log says that the log has no id.
Until one of these ids is known the topic waits: under another id its logs would be set aside.

While a node is invalid, the topic stays as this controller, or the broker that it runs in, knows it.

The data of each node is watched. Partitions that a tool added get their leaders at once. For known partitions nothing
is taken from the node, since replicas move by reassignments only, and a tool that does not know reassignments leaves
them out of the node.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkastore.controller.context import Partition
from kafkastore.controller.term import TOPIC_NODES
from kafkastore.metadata.assignment import ReplicaAssignment, encode_assigned
from kafkastore.metadata.image import NO_LEADER, UNKNOWN_EPOCH, PartitionState, TopicImage
from kafkastore.metadata.nodes import topic_id_text
from kafkastore.metadata.store import BadVersionError, NoNodeError, SetData
from kafkastore.metadata.stored_topics import TOPICS, LoadedTopics, load_topic

if TYPE_CHECKING:
    from kafkastore.controller.context import ControllerContext, Topic
    from kafkastore.controller.term import Term
    from kafkastore.metadata.stored_topics import StoredTopic

logger = logging.getLogger("kafkastore.controller.topic_nodes")

EVENT: Final = TOPIC_NODES

LOOKED_AT: Final = 100
"""The most nodes that one event reads, all at once: other events get their turn between."""


async def complete(term: Term, context: ControllerContext, loaded: LoadedTopics) -> LoadedTopics:
    """Completes loaded topics: gives an id to each topic without one in its node, and puts the known state in place of
    an invalid node. Topics that cannot be completed are among the invalid."""
    topics, invalid = {}, set()
    async for name, stored in term.turn().each(loaded.topics.items()):
        named = stored if stored.topic_id is not None else await _with_id(term, context, stored)
        if named is not None:
            topics[name] = named
        else:
            invalid.add(name)
    for name in loaded.invalid:
        image, rest = _last_image(term, name), loaded.rest.get(name)
        if image is None or rest is None or not all(one.replicas for one in image.partitions):
            invalid.add(name)
            continue
        logger.warning("Topic %s goes on as it was; %s/%s is not written", name, TOPICS, name)
        states = {number: state for number, state in rest.states.items() if number < len(image.partitions)}
        assigned = [ReplicaAssignment(one.replicas) for one in image.partitions]
        topics[name] = rest._replace(topic_id=image.topic_id, assigned=assigned, states=states)
    return LoadedTopics(topics, frozenset(invalid), loaded.highest_epoch)


async def on_topic_nodes(term: Term) -> None:
    """Reads topic nodes that were written, or that are not watched yet."""
    paths = term.watched.take_noted(EVENT, LOOKED_AT)
    versions = await asyncio.gather(*(term.watched.exists_noting(path, EVENT) for path in paths))
    for path, version in zip(paths, versions, strict=True):
        topic = term.context.topics.get(path.rpartition("/")[2])
        if topic is not None and version is not None and version != topic.version and not topic.is_deleting:
            await _take_over(term, topic)


# ---- inside
async def _take_over(term: Term, topic: Topic) -> None:
    """Takes over the added partitions of a known topic whose node another client has written."""
    stored = (await load_topic(term.store, topic.name)).topics.get(topic.name)
    if stored is None:
        return  # the node is gone, which another event handles, or invalid, which was logged: the topic stays as it is
    if stored.topic_id not in (None, topic.topic_id):
        logger.warning("%s has another topic id now, %s", topic.path, topic_id_text(stored.topic_id or b""))
        term.watched.tell("invalid")  # reads all anew
        return
    current = len(topic.partitions)
    added = [Partition(topic, number, one) for number, one in enumerate(stored.assigned[current:], current)]
    ours = [one.assigned for one in (*topic.partitions, *added)]
    node = SetData(topic.path, encode_assigned(topic.topic_id, ours), stored.version)
    must_write = stored.topic_id is None or stored.assigned != ours
    changed = await term.writer.apply(added, term.settle_rule(), [node] if must_write else [])
    topic.version = stored.version + must_write
    logger.info("Somebody wrote %s: %d partitions more", topic.path, len(added))
    topic.partitions += added
    await term.each(added, term.introduce_partition)
    await term.tell(changed, is_new=True)


async def _with_id(term: Term, context: ControllerContext, stored: StoredTopic) -> StoredTopic | None:
    topic_id = _id_of(term, context, stored)
    if topic_id is None:
        logger.warning(
            "%s/%s has no topic id, and no broker with a log of it is there: it waits for one", TOPICS, stored.name
        )
        return None
    known = term.context.topics.get(stored.name)
    if known is not None:
        ours = [one.assigned for one in known.partitions]
        stored = stored._replace(assigned=[*ours, *stored.assigned[len(ours) :]])
    node = SetData(f"{TOPICS}/{stored.name}", encode_assigned(topic_id, stored.assigned), stored.version)
    with suppress(BadVersionError, NoNodeError):  # another client wrote the node first; its watch fires
        await term.writer.write([node])
        logger.info("Topic %s had no id in the store; it is %s", stored.name, topic_id_text(topic_id))
        return stored._replace(topic_id=topic_id, version=stored.version + 1)
    return None


def _id_of(term: Term, context: ControllerContext, stored: StoredTopic) -> bytes | None:
    known = _last_image(term, stored.name)
    if known is not None:
        return known.topic_id  # A
    states = [(number, state) for number, state in stored.states.items() if state is not None]
    in_sync = {node for _, state in states for node in state.isr}
    reports = [(node not in in_sync, node) for node, one in context.brokers.items() if stored.name in one.topic_ids]
    if reports:
        return context.brokers[min(reports)[1]].topic_ids[stored.name]  # B
    without = [
        broker
        for number, state in states
        for node in state.isr
        if (broker := context.brokers.get(node)) is not None and not broker.may_lack(stored.name, number)
    ]
    return term.make_id() if without or not states else None  # C


def _last_image(term: Term, name: str) -> TopicImage | None:
    known = term.context.topics.get(name)
    if known is None:
        return term.stored.known(name)
    placed = [PartitionState(NO_LEADER, UNKNOWN_EPOCH, UNKNOWN_EPOCH, one.replicas, ()) for one in known.partitions]
    return TopicImage(name, known.topic_id, placed, known.configs)
