"""Topics that are created, grow, or change their configuration; by a call, or because another client wrote the store.

The topic's node is the decision: it is written first, with its configuration, and states follow. A controller that dies
in between leaves partitions without a state; the next controller elects their leaders.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.controller import topic_nodes
from kafkastore.controller.context import Partition, Topic
from kafkastore.controller.loading import take
from kafkastore.errors import (
    KafkastoreError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafkastore.metadata.assignment import ReplicaAssignment, encode_assigned, encode_in_steps, paced
from kafkastore.metadata.batches import size_of
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import CONFIG_CHANGES, config_notices, decode_config_notice, encode_config
from kafkastore.metadata.store import (
    ANY_VERSION,
    BadVersionError,
    Create,
    MultiTooLargeError,
    NodeExistsError,
    NoNodeError,
    SetData,
)
from kafkastore.metadata.stored_topics import load_config, load_configs, load_topic
from kafkastore.topic.checks import check_addition, check_growth, check_replicas
from kafkastore.topic.placement import place_replicas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence

    from kafkastore.controller.term import Term
    from kafkastore.metadata.store import Operation
    from kafkastore.purgatory.turns import Turn
    from kafkastore.topic.new_topic import NewPartitions, NewTopic

logger = logging.getLogger("kafkastore.controller.topics")

FEW_TOPICS = 10
"""Above this number of topics, the nodes of all topics are read at once."""


async def create_topics(term: Term, requested: Sequence[NewTopic]) -> list[Topic | KafkastoreError]:
    """Creates topics of different names, written together; when it returns, requests for the brokers are queued.
    Returns for each the topic, or its error: TopicAlreadyExistsError (also while a topic of this name is being
    deleted), InvalidReplicationFactorError, InvalidReplicaAssignmentError, or the store's refusal."""
    await term.refresh_settings()
    planned: dict[str, Topic] = {}
    failed: dict[str, KafkastoreError] = {}
    turn = term.turn()
    async for one in turn.each(requested):
        try:
            planned[one.name] = _plan(term, one)
        except KafkastoreError as error:
            failed[one.name] = error
    configured = await _configured(term, planned)
    nodes = {
        topic: _nodes_of(topic, has_config=topic.name in configured) async for topic in turn.each(planned.values())
    }
    changed: list[Partition] = []
    async for topics in _that_fit(turn, nodes, term.store.batch_bytes):
        changed += await _write_new(term, {topic: nodes[topic] for topic in topics}, failed)
    await term.tell(changed, is_new=True)
    return [failed[one.name] if one.name in failed else planned[one.name] for one in requested]


def _plan(term: Term, requested: NewTopic) -> Topic:
    if requested.name in term.context.topics:
        raise TopicAlreadyExistsError(f"Topic '{requested.name}' already exists.")
    if requested.assignments is None:
        placed = place_replicas(_racks(term), max(requested.partitions, 1), max(requested.replication_factor, 1))
    else:
        placed = _check(term, [replicas for _, replicas in sorted(requested.assignments.items())])
    equal: dict[tuple[int, ...], ReplicaAssignment] = {}  # partitions with equal replicas share one object
    topic = Topic(requested.name, term.make_id(), [equal.setdefault(one, ReplicaAssignment(one)) for one in placed])
    topic.configs = {name: value for name, value in (requested.configs or {}).items() if value is not None}
    return topic


async def _configured(term: Term, names: Collection[str]) -> set[str]:
    """The names with a configuration node already, written ahead of the topic or left by an older topic."""
    if len(names) > FEW_TOPICS:
        return set(await term.store.get_children("/config/topics"))
    return {name for name in names if await term.store.exists(f"/config/topics/{name}") is not None}


def _nodes_of(topic: Topic, *, has_config: bool) -> list[Operation]:
    """The operations that create a topic's nodes, except its states."""
    config, content = f"/config/topics/{topic.name}", encode_config(topic.configs)
    return [
        SetData(config, content) if has_config else Create(config, content),
        Create(topic.path, encode_assigned(topic.topic_id, [one.assigned for one in topic.partitions])),
        Create(f"{topic.path}/partitions"),
    ]


async def _that_fit(
    turn: Turn, nodes: Mapping[Topic, Sequence[Operation]], limit_bytes: int
) -> AsyncIterator[list[Topic]]:
    """Runs of topics whose nodes fit a ``multi``."""
    some: list[Topic] = []
    size = 0
    async for topic, of_topic in turn.each(nodes.items()):
        more = sum(map(size_of, of_topic))
        if some and size + more > limit_bytes // 2:
            yield some
            some, size = [], 0
        some.append(topic)
        size += more
    if some:
        yield some


async def _write_new(
    term: Term, nodes: Mapping[Topic, Sequence[Operation]], failed: dict[str, KafkastoreError]
) -> list[Partition]:
    """Writes topics and their states. When the store refuses the write, each topic is written alone, so that one does
    not fail the others."""
    partitions = [partition for topic in nodes for partition in topic.partitions]
    for topic in nodes:
        topic.has_folder = True
    try:
        changed = await term.writer.apply(
            partitions, term.settle_rule(), [one for of_topic in nodes.values() for one in of_topic]
        )
    except (NodeExistsError, MultiTooLargeError) as error:
        if len(nodes) == 1:
            (topic,) = nodes
            is_there = isinstance(error, NodeExistsError)
            failed[topic.name] = TopicAlreadyExistsError(f"Topic '{topic.name}' already exists.") if is_there else error
            return []
        return [
            partition
            for topic, of_topic in nodes.items()
            for partition in await _write_new(term, {topic: of_topic}, failed)
        ]
    await term.introduce(nodes)
    await term.log_topics(logger, "Created topics", [f"{one.name} ({len(one.partitions)} partitions)" for one in nodes])
    return changed


async def create_partitions(term: Term, requested: Sequence[NewPartitions]) -> list[KafkastoreError | None]:
    """Grows topics of different names, written together. Returns for each None, or its error:
    UnknownTopicOrPartitionError, InvalidPartitionsError, InvalidReplicaAssignmentError, or the store's refusal."""
    await term.refresh_settings()
    failed: dict[str, KafkastoreError] = {}
    planned: dict[Topic, list[Partition]] = {}
    turn = term.turn()
    async for one in turn.each(requested):
        try:
            topic = _existing(term, one.name)
            planned[topic] = _plan_growth(term, topic, one)
        except KafkastoreError as error:
            failed[one.name] = error
    nodes = {topic: [await _grown_node(topic, added, turn)] for topic, added in planned.items()}
    changed: list[Partition] = []
    async for topics in _that_fit(turn, nodes, term.store.batch_bytes):
        changed += await _write_grown(term, {topic: (planned[topic], nodes[topic]) for topic in topics}, failed)
    await term.tell(changed, is_new=True)
    return [failed.get(one.name) for one in requested]


def _plan_growth(term: Term, topic: Topic, requested: NewPartitions) -> list[Partition]:
    name, count, assignments = requested
    current = len(topic.partitions)
    check_growth(name, current, count)
    if assignments is None:
        factor = len(topic.partitions[0].assigned.target)
        placed = place_replicas(_racks(term), count - current, factor, current)
    else:
        placed = _check(term, assignments)
        check_addition(count - current, placed)
    return [Partition(topic, current + number, ReplicaAssignment(replicas)) for number, replicas in enumerate(placed)]


async def _grown_node(topic: Topic, added: Sequence[Partition], turn: Turn) -> SetData:
    assigned = [one.assigned for one in (*topic.partitions, *added)]
    return SetData(topic.path, await paced(encode_in_steps(topic.topic_id, assigned), turn.give_way), topic.version)


async def _write_grown(
    term: Term,
    planned: Mapping[Topic, tuple[Sequence[Partition], Sequence[Operation]]],
    failed: dict[str, KafkastoreError],
) -> list[Partition]:
    """Writes the nodes of topics and the states of their new partitions. When the store refuses the write, each topic
    is written alone, so that one does not fail the others."""
    added = [partition for of_topic, _ in planned.values() for partition in of_topic]
    nodes = [operation for _, of_topic in planned.values() for operation in of_topic]
    try:
        changed = await term.writer.apply(added, term.settle_rule(), nodes)
    except (BadVersionError, NoNodeError, NodeExistsError, MultiTooLargeError) as error:
        if len(planned) == 1:
            failed[next(iter(planned)).name] = error
            return []
        return [
            partition
            for topic, of_topic in planned.items()
            for partition in await _write_grown(term, {topic: of_topic}, failed)
        ]
    for topic, (of_topic, _) in planned.items():
        topic.version += 1
        topic.partitions += of_topic
    await term.each(added, term.introduce_partition)
    await term.log_topics(
        logger, "More partitions", [f"{one.name} ({len(one.partitions)} partitions)" for one in planned]
    )
    return changed


async def set_topic_configs(
    term: Term, requested: Mapping[str, Mapping[str, str]]
) -> dict[str, UnknownTopicOrPartitionError]:
    """Replaces the own configuration of topics, checked already, in one write, and notifies all brokers. Returns the
    topics that do not exist, with their errors.

    Where min.insync.replicas is lowered to the size of the isr, the elr becomes empty (KIP-966). The empty elr is
    written before the leaders can learn of the new minimum and commit on fewer replicas."""
    topics = {name: topic for name in requested if (topic := term.context.topics.get(name)) and not topic.is_deleting}
    failed = {name: UnknownTopicOrPartitionError() for name in requested if name not in topics}
    if not topics:
        return failed
    await term.refresh_settings()
    before = [(topic, topic.configs) for topic in topics.values()]
    partitions = await _partitions_of(term, topics.values())
    for name, topic in topics.items():
        topic.configs = dict(requested[name])
    try:
        changed = await term.update(partitions, term.without_elr_rule())
    except BaseException:
        for topic, configs in before:
            topic.configs = configs
        raise
    for name in topics.keys() - await _configured(term, topics):
        await term.store.ensure_path(f"/config/topics/{name}")
    changes = [SetData(f"/config/topics/{name}", encode_config(requested[name]), ANY_VERSION) for name in topics]
    written = await term.writer.write([*changes, *config_notices("topics", list(topics))])
    notices = {one.rpartition("/")[2] for one in written if isinstance(one, str)}
    term.own_changes |= notices
    term.noted_changes |= notices
    changed += await term.settle(partitions)  # an unclean election may be allowed now
    await term.tell(list(dict.fromkeys(changed)))
    return failed


async def on_configs(term: Term) -> None:
    """Handles configuration changes that are named in ``/config/changes``, except those that this controller wrote
    itself."""
    nodes = set(await term.watched.get_children(CONFIG_CHANGES, "configs"))
    unknown = nodes - term.noted_changes
    term.noted_changes &= nodes
    term.own_changes &= nodes
    if not unknown:
        return
    names = await _topics_named(term, unknown)
    await term.refresh_settings()
    if names is None:
        found = await load_configs(term.store, term.turn().give_way)
        touched = list(term.context.topics.values())
    else:
        touched = [topic for name in names if (topic := term.context.topics.get(name)) is not None]
        found = {topic.name: await load_config(term.store, topic.name) for topic in touched}
    for topic in touched:
        configs = found.get(topic.name, {})
        if configs is not None:
            topic.configs = configs
    partitions = await _partitions_of(term, touched)
    changed = await term.update(partitions, term.without_elr_rule())
    changed += await term.settle(partitions)
    term.noted_changes |= unknown
    await term.tell(list(dict.fromkeys(changed)))


async def _topics_named(term: Term, nodes: Collection[str]) -> list[str] | None:
    """The topics that these nodes of ``/config/changes`` name. None, which stands for all topics, when they are many,
    when a node is about brokers, and when a node is gone or invalid. Nodes about clients name no topics."""
    if len(nodes) > FEW_TOPICS:
        return None
    names: dict[str, None] = {}
    for node in nodes:
        try:
            kind, named = decode_config_notice((await term.store.get(f"{CONFIG_CHANGES}/{node}")).data)
        except (NoNodeError, InvalidNodeError):
            return None
        if kind == "brokers":
            return None
        if kind == "topics":
            names.update(dict.fromkeys(named))
    return list(names) if len(names) <= FEW_TOPICS else None


async def on_topics(term: Term) -> None:
    """Handles topics that another client of the store created or deleted there."""
    names = set(await term.watched.get_children("/brokers/topics", "topics"))
    # the topics that this controller created are known; most of the time there are no others, and each change of a
    # topic comes here
    async for name in term.turn().each(sorted(names - term.context.topics.keys())):
        if f"/brokers/topics/{name}" not in term.context.invalid:
            loaded = await topic_nodes.complete(term, term.context, await load_topic(term.store, name))
            for topic in await take(term.watched, term.context, loaded, term.turn()):
                await _adopt(term, topic)
    for name in term.context.topics.keys() - names:
        topic = term.context.topics[name]
        logger.warning("Topic %s was taken from the store", name)
        topic.is_deleting = True  # UpdateMetadata carries it
        term.context.remove_topic(topic)
        await term.channels.tell_all(topic.partitions)


async def _adopt(term: Term, topic: Topic) -> None:
    await term.introduce([topic])
    new = [partition for partition in topic.partitions if partition.leadership is None]
    changed = await term.settle(topic.partitions)
    await term.tell(topic.partitions)
    await term.channels.tell_replicas(new, is_new=True)
    logger.info("Topic %s with %d partitions was found; %d elected", topic.name, len(topic.partitions), len(changed))


# ---- inside
async def _partitions_of(term: Term, topics: Iterable[Topic]) -> list[Partition]:
    return [one async for run in term.turn().runs(topics) for topic in run for one in topic.partitions]


def _existing(term: Term, name: str) -> Topic:
    topic = term.context.topics.get(name)
    if topic is None or topic.is_deleting:
        raise UnknownTopicOrPartitionError
    return topic


def _racks(term: Term) -> dict[int, str | None]:
    brokers, removed = term.context.brokers, term.settings.removed_brokers
    return {node_id: brokers[node_id].rack for node_id in term.context.usable() if node_id not in removed}


def _check(term: Term, assignments: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    placed = [tuple(replicas) for replicas in assignments]
    for replicas in dict.fromkeys(placed):
        check_replicas(replicas, term.context.brokers, term.settings.removed_brokers)
    return placed
