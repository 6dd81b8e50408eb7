"""Brings the store's topics and the logs on the disk together at start, before this broker registers.

A  A topic of the store with a log of its id here: the log is this broker's, and its directory is noted. A topic that
   has no id in the store takes the id of its logs, with which this broker registers.
B  A topic of the store without a log here: the log is created when the controller sends LeaderAndIsr. Where others
   count on the records that were in it, the registration says that they are gone.
C  A log with another topic id, beyond its topic's partitions, or placed on other brokers: stray. It is set aside, never
   deleted.
D  Logs of a topic that the store does not know. A folder that only looks like a partition (backup-20261122) is left
   alone. In a cluster the logs are stray, unless an administrator has asked to adopt them (``log/strays.py``). A broker
   that is alone adopts them: it serves a directory that Apache Kafka wrote, and one whose store was lost. The topic's
   configuration is the copy beside the log, or the one in Kafka's metadata log. Without either, no record is deleted or
   compacted (``config.held``).
E  Logs of a topic whose deletion, by its id, an earlier version of a broker that is alone had begun: deleted.
F  Logs of a topic whose node cannot be read: left alone until an administrator repairs the node.
G  A log that a reassignment took away meanwhile: noted too. The controller sends StopReplica for it.
H  A topic whose configuration is missing in the store (restored from an older backup, invalid, or deleted): the copy
   beside its logs holds, and is written to the store again.

Kafka's own ``__cluster_metadata`` is left alone, so that Kafka can open the directory again. This module decides no
leader.
"""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafkastore.config import engine_topic_config, held
from kafkastore.controller.loading import DELETION_MARKS
from kafkastore.log.manager import ADOPT_FILE
from kafkastore.metadata.assignment import ReplicaAssignment
from kafkastore.metadata.image import NO_LEADER
from kafkastore.metadata.kafka_metadata_log import metadata_places
from kafkastore.metadata.leadership import Leadership, encode_leadership
from kafkastore.metadata.nodes import new_id, topic_id_text
from kafkastore.metadata.store import SetData
from kafkastore.metadata.stored_topics import CONFIGS, TOPICS, UNREADABLE, StoredTopic, load_configs
from kafkastore.plain_files import open_plain
from kafkastore.topic.internal import internal_configs
from kafkastore.topic.planner import MAX_PARTITIONS_PER_REQUEST

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from kafkastore._core import Engine
    from kafkastore.config import BrokerConfig
    from kafkastore.dynamic_config.changes import ConfigChanges
    from kafkastore.dynamic_config.kept_configs import KeptConfigs
    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore, Operation
    from kafkastore.metadata.stored_topics import LoadedTopics, StoredTopics

logger = logging.getLogger("kafkastore.membership.reconcile")

_MAX_NAMED = 10

T = TypeVar("T")

_KAFKAS_OWN = frozenset(("__cluster_metadata",))


class OpenBroker:
    """The parts of a starting broker whose logs are open."""

    __slots__ = (
        "config",
        "config_changes",
        "engine",
        "image",
        "kept_configs",
        "log_manager",
        "node_id",
        "store",
        "stored_topics",
    )

    def __init__(
        self,
        config: BrokerConfig,
        engine: Engine,
        store: MetadataStore,
        stored_topics: StoredTopics,
        image: MetadataImage,
        log_manager: LogManager,
        kept_configs: KeptConfigs,
        config_changes: ConfigChanges,
    ) -> None:
        self.config = config
        self.node_id = config.node_id
        self.engine = engine
        self.store = store
        self.stored_topics = stored_topics
        self.image = image
        self.log_manager = log_manager
        self.kept_configs = kept_configs
        self.config_changes = config_changes

    async def run_blocking(self, function: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class ReconciliationResult(NamedTuple):
    """What this broker registers about its logs; the first two are empty when its logs have lost nothing."""

    unclean: dict[str, list[int]]
    """By topic, the partitions that may have lost records."""
    log_ends: dict[str, dict[str, int]]
    """By topic and partition, where the log ends now."""
    topic_ids: Mapping[str, bytes] = {}
    """By topic, the id that its logs carry; of topics that have no id in the store."""


class _HostedLog(NamedTuple):
    partition: int
    topic_id: bytes | None
    log_dir: str
    end: int


async def reconcile(broker: OpenBroker) -> ReconciliationResult:
    """Runs after the engine has opened its logs; see the module."""
    found: dict[str, list[_HostedLog]] = {}
    for log in broker.engine.logs():
        if log.topic not in _KAFKAS_OWN:
            logs = found.setdefault(log.topic, [])
            logs.append(_HostedLog(log.partition, log.topic_id, log.log_dir, log.log_end_offset))
    loaded = await broker.stored_topics.load()  # recovery takes minutes: the other brokers went on
    _leave_alone(broker, loaded, found)
    adopted: dict[str, StoredTopic] = {}
    is_any_wanted = _is_any_wanted(broker)
    if not broker.config.is_member:
        await _finish_deletions(broker, loaded, found)
        _leave_foreign(loaded, found)
        adopted = {name: _adopt(broker, name, logs) for name, logs in found.items() if name not in loaded.topics}
    elif is_any_wanted:
        adopted = await _adopted_topics(broker, loaded, found)
    if adopted:
        await _store_adopted(broker, adopted.values())
    if is_any_wanted:
        from kafkastore.log import strays

        await broker.run_blocking(strays.forget, broker.log_manager.online)
    topic_ids = _ids_of_nameless(loaded, found)
    topics = loaded.topics | adopted
    topics |= {name: topics[name]._replace(topic_id=topic_id) for name, topic_id in topic_ids.items()}
    ends = await _claim(broker, topics, found)
    await _keep_configs(broker, {name: topics[name] for name in ends}, loaded.unconfigured | loaded.misconfigured)
    if not broker.config.is_member:
        await _mend_states(broker, topics)
    unclean = _not_closed(broker, ends, adopted)
    for name, number in _missing(broker, topics):
        unclean.setdefault(name, []).append(number)
    if not unclean:
        return ReconciliationResult({}, {}, topic_ids)
    log_ends = {name: {str(one): end for one, end in of_one.items()} for name, of_one in ends.items()}
    return ReconciliationResult(unclean, log_ends, topic_ids)


def _ids_of_nameless(loaded: LoadedTopics, found: Mapping[str, Iterable[_HostedLog]]) -> dict[str, bytes]:
    """The id that most of a topic's logs carry, of each topic that has no id in the store."""
    ids = {}
    for name, topic in loaded.topics.items():
        if topic.topic_id is None:
            carried = [log.topic_id for log in found.get(name, ()) if log.topic_id is not None]
            if carried:
                ids[name] = max(carried, key=carried.count)
    return ids


def _leave_alone(broker: OpenBroker, loaded: LoadedTopics, found: dict[str, list[_HostedLog]]) -> None:
    """Case F: keeps the logs, whether they are this broker's or not, so that they are there when the node is
    repaired."""
    for name in loaded.invalid & found.keys():
        for log in found.pop(name):
            broker.log_manager.record(name, log.partition, log.log_dir)


async def _finish_deletions(broker: OpenBroker, loaded: LoadedTopics, found: dict[str, list[_HostedLog]]) -> None:
    """Case E. A deletion whose topic is still in the store is left to the controller."""
    done: list[Operation] = []
    for name in await broker.store.get_children(DELETION_MARKS):
        if name in loaded.invalid or name in loaded.topics:
            continue
        path = f"{DELETION_MARKS}/{name}"
        deleted_id = (await broker.store.get(path)).data
        logs = found.get(name, [])
        doomed = [log for log in logs if log.topic_id is not None and log.topic_id == deleted_id]
        if doomed:
            await broker.run_blocking(broker.engine.delete_logs, name, [log.partition for log in doomed])
            remaining = [log for log in logs if log not in doomed]
            found[name] = remaining
            if not remaining:
                del found[name]
            logger.info("Finished the deletion of topic %s", name)
        done += await broker.store.delete_tree(path)
    if done:
        await broker.run_blocking(broker.engine.note_deletions)
        await broker.store.multi(done)


async def _claim(
    broker: OpenBroker, topics: Mapping[str, StoredTopic], found: Mapping[str, list[_HostedLog]]
) -> dict[str, dict[int, int]]:
    """Cases A, C, D and G. Returns by topic and partition where the logs of case A end."""
    ends: dict[str, dict[int, int]] = {}
    is_any_stray = False
    for name, logs in found.items():
        topic = topics.get(name)
        for log in logs:
            is_its = topic is not None and log.topic_id in (None, topic.topic_id)
            if topic is not None and is_its and log.partition < len(topic.assigned):
                is_mine = broker.node_id in topic.assigned[log.partition].replicas
                if is_mine:
                    ends.setdefault(name, {})[log.partition] = log.end
                if is_mine or broker.node_id in topic.assigned[log.partition].pending_deletion:
                    broker.log_manager.record(name, log.partition, log.log_dir)
                    continue
            there = "is not in the metadata"
            if topic is not None:
                there = f"is {topic_id_text(topic.topic_id)} there" if topic.topic_id else "has no id there"
            logger.warning("%s-%d in %s: the topic %s; set aside as -stray", name, log.partition, log.log_dir, there)
            broker.engine.mark_stray(name, log.partition)
            is_any_stray = True
    if is_any_stray:
        await broker.run_blocking(broker.engine.note_deletions)
    return ends


# ---- D
def _leave_foreign(loaded: LoadedTopics, found: dict[str, list[_HostedLog]]) -> None:
    """Keeps in ``found`` only logs of which a topic can be made. Adopting a log creates all partitions below its
    number, so that one foreign folder could ask for millions: logs after too large a gap are left alone. So are the
    logs of a topic without partition 0 when none of them has records or an id."""
    left: list[str] = []
    for name in found.keys() - loaded.topics.keys():
        last, logs, foreign = -1, list[_HostedLog](), list[_HostedLog]()
        for log in sorted(found[name]):
            is_next = not foreign and log.partition - last <= MAX_PARTITIONS_PER_REQUEST
            (logs if is_next else foreign).append(log)
            last = log.partition
        if logs and logs[0].partition and all(log.topic_id is None and not log.end for log in logs):
            logs, foreign = [], [*logs, *foreign]
        left += [os.path.join(log.log_dir, f"{name}-{log.partition}") for log in foreign]
        if logs:
            found[name] = logs
        else:
            del found[name]
    if left:
        logger.warning(
            "%d folders look like partitions of topics that nobody knows, and are left alone: %s",
            len(left),
            ", ".join(sorted(left)[:_MAX_NAMED]) + (", …" if len(left) > _MAX_NAMED else ""),
        )


def _is_any_wanted(broker: OpenBroker) -> bool:
    return any(os.path.exists(os.path.join(log_dir, ADOPT_FILE)) for log_dir in broker.log_manager.online)


async def _adopted_topics(
    broker: OpenBroker, loaded: LoadedTopics, found: Mapping[str, list[_HostedLog]]
) -> dict[str, StoredTopic]:
    """The topics that ``kafkastore stray adopt`` was asked for, in a cluster; without those whose deletion is under
    way, and those that the store knows."""
    from kafkastore.log import strays

    wanted = await broker.run_blocking(strays.wanted, broker.log_manager.online)
    if not wanted:
        return {}
    going = set(await broker.store.get_children(DELETION_MARKS))
    return {
        name: _adopt(broker, name, found[name])
        for name, topic_id in wanted
        if name in found.keys() - loaded.topics.keys() - going and {log.topic_id for log in found[name]} == {topic_id}
    }


def _adopt(broker: OpenBroker, name: str, logs: list[_HostedLog]) -> StoredTopic:
    """A topic made from its directories: id from ``partition.metadata``, leader epochs above those in the logs."""
    logs.sort()
    topic_id = next((log.topic_id for log in logs if log.topic_id is not None), None) or new_id()
    me = (broker.node_id,)
    epochs = {log.partition: _last_leader_epoch(log.log_dir, name, log.partition) + 1 for log in logs}
    count = logs[-1].partition + 1
    states: dict[int, Leadership | None] = {
        number: Leadership(broker.node_id, epochs.get(number, 0), me) for number in range(count)
    }
    return StoredTopic(name, topic_id, [ReplicaAssignment(me)] * count, states, internal_configs(broker.config, name))


async def _store_adopted(broker: OpenBroker, adopted: Iterable[StoredTopic]) -> None:
    """Writes adopted topics to the store, with the configuration that is known of them."""
    from kafkastore.coordinator.producer_ids import keep_above
    from kafkastore.metadata.kafka_metadata import read_metadata

    kafkas = await broker.run_blocking(read_metadata, metadata_places(broker.config))
    kafkas_configs = kafkas.topic_configs()
    are_kafkas_all_known = not broker.config.is_member and not kafkas.faults  # the defaults of brokers, too
    highest = await broker.run_blocking(broker.engine.highest_producer_id)
    await keep_above(broker.store, broker.node_id, max(kafkas.next_producer_id, highest + 1))
    left = await load_configs(broker.store)
    operations: list[Operation] = []
    unsaid: list[str] = []
    for topic in adopted:
        known = {**topic.configs, **kafkas_configs.get(topic.name, {})}
        kept = broker.kept_configs.find(topic.name, topic.topic_id)
        if kept is not None:
            known = dict(kept.configs)
        known |= left.get(topic.name) or {}
        is_kafkas = kept is None and are_kafkas_all_known and kafkas.topics.get(topic.topic_id or b"") == topic.name
        topic.configs.update(known if is_kafkas else held(known))
        if topic.configs != known:
            unsaid.append(topic.name)
        broker.image.put_topic(topic.image())
        operations += topic.nodes(0, has_config=topic.name in left)  # no controller has decided it
        broker.engine.set_topic_config(topic.name, engine_topic_config(broker.config, topic.configs, topic.name))
        logger.info("Adopted topic %s with %d partitions from the log directories", topic.name, len(topic.assigned))
    await broker.store.multi(operations)
    if unsaid:
        logger.warning(
            "%d topics were found in the log directories alone, without a word on how long their records are kept: "
            "nothing of them is deleted or compacted until retention.ms or cleanup.policy is set, as with "
            "kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config retention.ms=604800000 (%s)",
            len(unsaid),
            unsaid[0],
            ", ".join(unsaid[:_MAX_NAMED]) + (", …" if len(unsaid) > _MAX_NAMED else ""),
        )


# ---- H
async def _keep_configs(broker: OpenBroker, topics: Mapping[str, StoredTopic], unconfigured: Container[str]) -> None:
    """Case H; then keeps the topics' configurations beside their logs."""
    restored = 0
    for name, topic in topics.items():
        kept = broker.kept_configs.find(name, topic.topic_id)
        if kept is None or kept.configs == topic.configs:
            continue
        if name in unconfigured:
            logger.warning("Topic %s has the configuration that is kept beside its logs, until the store has one", name)
            _configure(broker, name, kept.configs)
        elif kept.mark.store == await _identity(broker) and await broker.store.has_lost(
            kept.mark.generation, f"{CONFIGS}/{name}"
        ):
            await broker.config_changes.write("topics", name, kept.configs)
            _configure(broker, name, kept.configs)
            restored += 1
    if restored:
        logger.warning(
            "%d topics have the configuration that is kept beside their logs again: the metadata store had lost it",
            restored,
        )
    images = [image for name in topics if (image := broker.image.topic(name)) is not None and name not in unconfigured]
    await broker.kept_configs.tidy(broker.image.topics)
    await broker.kept_configs.keep(images)


async def _identity(broker: OpenBroker) -> str | None:
    mark = await broker.store.read_mark()
    return None if mark is None else mark.store


def _configure(broker: OpenBroker, name: str, configs: dict[str, str]) -> None:
    image = broker.image.topic(name)
    if image is not None:
        image.configs = configs
    broker.engine.set_topic_config(name, engine_topic_config(broker.config, configs, name))


def _last_leader_epoch(log_dir: str, topic: str, partition: int) -> int:
    """The last epoch in ``leader-epoch-checkpoint``; -1 when there is none."""
    try:
        path = os.path.join(log_dir, f"{topic}-{partition}", "leader-epoch-checkpoint")
        with open(path, encoding="ascii", opener=open_plain) as file:
            lines = file.read().split("\n")
        return max((int(line.split()[0]) for line in lines[2:] if line.strip()), default=-1)
    except (OSError, ValueError):
        return -1


async def _mend_states(broker: OpenBroker, topics: Mapping[str, StoredTopic]) -> None:
    """A broker that is alone has all committed records, so an unreadable partition state is written anew, in a leader
    epoch above those of the log."""
    operations: list[Operation] = []
    for topic in topics.values():
        for number, state in topic.states.items():
            if state is UNREADABLE:
                log_dir = broker.log_manager.directory_of(topic.name, number)
                last = -1 if log_dir is None else _last_leader_epoch(log_dir, topic.name, number)
                mended = Leadership(NO_LEADER, last + 1, topic.assigned[number].replicas)
                path = f"{TOPICS}/{topic.name}/partitions/{number}/state"
                logger.warning("%s is written anew, in leader epoch %d", path, mended.leader_epoch)
                operations.append(SetData(path, encode_leadership(mended, 0)))  # no controller has decided it
    if operations:
        await broker.store.multi(operations)


# ---- what may be gone
def _not_closed(
    broker: OpenBroker, ends: Mapping[str, Mapping[int, int]], adopted: Mapping[str, StoredTopic]
) -> dict[str, list[int]]:
    """The logs in directories that were not closed cleanly, and the logs that lack records that were durable. Records
    that were not synced may be lost with the page cache; consumers and followers that have read them notice it by the
    next leader epoch (KIP-320). Adopted topics are in a new leader epoch already."""
    recovery = broker.engine.recovery()
    found: dict[str, list[int]] = {}
    unclean = [(name, number) for name, number in recovery.unclean_logs() if name not in adopted]
    for name, number in (*sorted(unclean), *recovery.short_logs()):
        if number in ends.get(name, {}) and number not in found.get(name, ()):
            found.setdefault(name, []).append(number)
    return found


def _missing(broker: OpenBroker, topics: Mapping[str, StoredTopic]) -> Iterator[tuple[str, int]]:
    """Partitions (case B) whose logs are missing while this broker may be in their ISR or ELR: a disk is offline or was
    replaced, or a crash came between the controller's decision and the creation of the log."""
    for topic in topics.values():
        for number, one in enumerate(topic.assigned):
            if broker.node_id not in one.replicas or broker.log_manager.directory_of(topic.name, number) is not None:
                continue
            state = topic.states.get(number)
            if state is None or state is UNREADABLE or broker.node_id in (*state.isr, *state.elr):
                yield topic.name, number
