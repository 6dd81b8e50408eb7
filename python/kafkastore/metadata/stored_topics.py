"""The topics of the store, with their states and configurations: read and judged in this one place, for a broker that
starts and for the controller (Kafka's node layout). It decides nothing.

Whoever reaches the store may have written invalid content into a node: it is named at level ERROR and left out, and the
others stand. Nothing is decided about a partition whose state is invalid, since it is unknown which replicas have all
committed records.

A start reads all topics several times: for the logs, after their recovery, and as the controller, under an epoch of its
own. A store that can tell that nothing has changed in between is not read again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.metadata.assignment import at_once, decode_in_steps, encode_assigned, paced
from kafkastore.metadata.image import NO_LEADER, UNKNOWN_EPOCH, PartitionState, TopicImage
from kafkastore.metadata.leadership import Leadership, decode_leadership, encode_leadership
from kafkastore.metadata.node_content import InvalidNodeError, check_topic_name, report
from kafkastore.metadata.nodes import decode_config, encode_config
from kafkastore.metadata.store import Create, NoNodeError, SetData, child_in

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from kafkastore.metadata.assignment import Pause, ReplicaAssignment
    from kafkastore.metadata.store import MetadataStore, Operation

    Nodes = Iterable[tuple[str, bytes, int]]  # as get_tree gives them
    Tell = Callable[[str, str, InvalidNodeError], None]

TOPICS: Final = "/brokers/topics"
CONFIGS: Final = "/config/topics"

IN_A_STEP: Final = 256
"""Nodes that are judged between two pauses."""


UNREADABLE: Final = Leadership(NO_LEADER, UNKNOWN_EPOCH, ())
"""In place of a state that is invalid."""


class StoredTopic(NamedTuple):
    """One topic; ``assigned[i]`` has the replicas of partition i."""

    name: str
    topic_id: bytes | None
    """None where the node has none: Kafka up to 2.7 or one of its tools wrote it."""
    assigned: list[ReplicaAssignment]
    states: dict[int, Leadership | None]
    """The states of the partitions that have a folder; None while the folder has no state."""
    configs: dict[str, str]
    version: int = 0  # of the node with the assignment
    has_folder: bool = True  # the parent of the partitions

    def image(self) -> TopicImage:
        """The topic as brokers have it; the topic must have an id."""
        assert self.topic_id is not None, self.name
        equal: dict[tuple[int, int], PartitionState] = {}  # by the ids of the state and the assignment
        partitions = []
        for number, one in enumerate(self.assigned):
            state = self.states.get(number)
            key = id(state), id(one)
            known = equal.get(key)
            if known is None:
                now = state or Leadership(NO_LEADER, 0, one.replicas)
                epochs = now.leader_epoch, now.partition_epoch
                known = equal[key] = PartitionState(now.leader, *epochs, one.replicas, now.isr)
            partitions.append(known)
        return TopicImage(self.name, self.topic_id, partitions, self.configs)

    def nodes(self, controller_epoch: int, *, has_config: bool = False) -> list[Operation]:
        """The operations that create all nodes of a topic with an id and states; with ``has_config`` its configuration
        has a node."""
        assert self.topic_id is not None, self.name
        path, config, content = f"{TOPICS}/{self.name}", f"{CONFIGS}/{self.name}", encode_config(self.configs)
        operations: list[Operation] = [
            SetData(config, content) if has_config else Create(config, content),
            Create(path, encode_assigned(self.topic_id, self.assigned)),
            Create(f"{path}/partitions"),
        ]
        for number, state in self.states.items():
            if state is not None:
                folder = f"{path}/partitions/{number}"
                operations += [Create(folder), Create(f"{folder}/state", encode_leadership(state, controller_epoch))]
        return operations


class LoadedTopics(NamedTuple):
    """Topics by name; ``invalid`` has the names of topics whose node is invalid."""

    topics: dict[str, StoredTopic]
    invalid: frozenset[str]
    highest_epoch: int = 0
    """The highest epoch of the controllers that wrote the states, of invalid topics too."""
    rest: Mapping[str, StoredTopic] = {}
    """What can be read of the topics in ``invalid``: all but the id and the assignment."""
    unconfigured: frozenset[str] = frozenset()
    """Topics that have no node for their configuration."""
    misconfigured: frozenset[str] = frozenset()
    """Topics whose configuration is invalid."""


class StoredTopics:
    """See the module. With ``is_kept`` the topics are kept until :meth:`forget`, and read again only after a change."""

    def __init__(self, store: MetadataStore, *, is_kept: bool = False) -> None:
        self._store = store
        self._is_kept = is_kept
        self._kept: dict[int | None, LoadedTopics] = {}  # by the number of the store's last change before it was read
        self.known: Callable[[str], TopicImage | None] = lambda _: None
        """A topic as this broker knows it, whatever the store says."""

    async def load(self, pause: Pause | None = None) -> LoadedTopics:
        """All topics, those being deleted too. ``pause`` is awaited between a few nodes."""
        change = await self._last_change()
        loaded = self._kept.get(change)
        if loaded is None:
            topics = await self._store.get_tree(TOPICS)
            configs = await self._store.get_tree(CONFIGS)
            loaded = await paced(_judge_in_steps(topics, configs, report), pause)
            if change is not None:
                self._kept = {change: loaded}
        return loaded

    async def highest_epoch(self) -> int:
        """See :class:`LoadedTopics`."""
        loaded = self._kept.get(await self._last_change())
        if loaded is None:
            loaded = _judge(await self._store.get_tree(TOPICS), (), _tell_nobody)
        return loaded.highest_epoch

    async def _last_change(self) -> int | None:
        """The number of the last change of the topics; None when nothing is kept. It is read before the nodes, so that
        the nodes are at least as new; while the number is the same, the kept topics are current."""
        return await self._store.last_change(TOPICS, CONFIGS) if self._is_kept else None

    def forget(self) -> None:
        """The start is over: the kept topics become stale, and take memory."""
        self._is_kept, self._kept = False, {}


async def load_topic(store: MetadataStore, name: str) -> LoadedTopics:
    """One topic; empty when the topic does not exist."""
    path, config = f"{TOPICS}/{name}", f"{CONFIGS}/{name}"
    configs: list[tuple[str, bytes, int]] = []
    try:
        node = await store.get(path)
    except NoNodeError:
        return LoadedTopics({}, frozenset())
    with suppress(NoNodeError):
        configs.append((config, (await store.get(config)).data, 0))
    return _judge([(path, node.data, node.version), *await store.get_tree(path)], configs)


async def load_configs(store: MetadataStore, pause: Pause | None = None) -> dict[str, dict[str, str] | None]:
    """The configurations of all topics that have a node for it; None for an invalid configuration."""
    return await paced(_judge_configs_in_steps(await store.get_tree(CONFIGS)), pause)


async def load_config(store: MetadataStore, name: str) -> dict[str, str] | None:
    """The configuration of one topic; None when it is invalid, empty when it has no node."""
    path = f"{CONFIGS}/{name}"
    try:
        node = await store.get(path)
    except NoNodeError:
        return {}
    return _judge_configs([(path, node.data, node.version)])[name]


def _judge_configs(nodes: Nodes) -> dict[str, dict[str, str] | None]:
    return at_once(_judge_configs_in_steps(nodes))


def _judge_configs_in_steps(nodes: Nodes) -> Generator[None, None, dict[str, dict[str, str] | None]]:
    found: dict[str, dict[str, str] | None] = {}
    for number, (path, data, _) in enumerate(nodes):
        if number % IN_A_STEP == 0:
            yield
        name = child_in(CONFIGS, path)
        if not name:
            continue
        try:
            found[name] = decode_config(data)
        except InvalidNodeError as error:  # one topic must not end the control of all
            found[name] = None
            report(path, "what is in force stays, at first nothing is deleted", error)
    return found


def _tell_nobody(path: str, consequence: str, error: InvalidNodeError) -> None:
    """In place of :func:`report` where only numbers are wanted: loading the topics reports what is invalid."""


def _judge(nodes: Nodes, config_nodes: Nodes, tell: Tell = report) -> LoadedTopics:
    return at_once(_judge_in_steps(nodes, config_nodes, tell))


def _judge_in_steps(nodes: Nodes, config_nodes: Nodes, tell: Tell) -> Generator[None, None, LoadedTopics]:
    configs = yield from _judge_configs_in_steps(config_nodes)
    found: dict[str, tuple[bytes, int]] = {}
    below: dict[str, dict[str, Leadership | None]] = {}
    decoded: dict[tuple[bytes, int], Leadership] = {}  # equal states share one object
    for number, (path, data, version) in enumerate(nodes):
        if number % IN_A_STEP == 0:
            yield
        _, _, _, name, *rest = path.split("/")  # of /brokers/topics/T/partitions/P/state
        if not rest:
            found[name] = data, version
            continue
        states = below.setdefault(name, {})
        if len(rest) == 2:
            states.setdefault(rest[1], None)
        elif rest[2:] == ["state"]:
            states[rest[1]] = decoded.get((data, version)) or _state(path, data, version, decoded, tell)
    topics, unread = {}, {}
    for name, (data, version) in sorted(found.items()):
        yield
        there = below.get(name, {})
        own = configs.get(name) or {}
        try:
            check_topic_name(name)
            topic_id, assigned = yield from decode_in_steps(data)
        except InvalidNodeError as error:
            tell(f"{TOPICS}/{name}", "it is left alone until somebody mends it", error)
            numbered = {int(one): state for one, state in there.items() if one.isascii() and one.isdecimal()}
            unread[name] = StoredTopic(name, None, [], numbered, own, version, has_folder=name in below)
        else:
            known = {number: there[text] for number in range(len(assigned)) if (text := str(number)) in there}
            topics[name] = StoredTopic(name, topic_id, assigned, known, own, version, has_folder=name in below)
    highest = max((state.controller_epoch for state in decoded.values()), default=0)
    unconfigured = frozenset(name for name in topics if name not in configs)
    misconfigured = frozenset(name for name in topics if name in configs and configs[name] is None)
    return LoadedTopics(topics, frozenset(unread), highest, unread, unconfigured, misconfigured)


def _state(
    path: str, data: bytes, version: int, decoded: dict[tuple[bytes, int], Leadership], tell: Tell
) -> Leadership:
    try:
        state = decoded[data, version] = decode_leadership(data, version)
    except InvalidNodeError as error:
        tell(path, "it is left alone until somebody mends it", error)
        return UNREADABLE
    return state
