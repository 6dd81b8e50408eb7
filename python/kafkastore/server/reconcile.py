"""Brings the store's topics and the logs on the disk together at start.

A  a topic of the store, a log with its id        → served
B  a topic of the store, no log here              → the log is made; with a failed log directory it may be there, so the
                                                    partition is offline instead
C  a log whose topic id is another's, or beyond its topic's partitions → stray: set aside, never deleted
D  logs of a topic that the store does not know   → adopted: a directory that Apache Kafka wrote is served as it is
E  logs of a topic whose deletion was under way   → deleted
F  logs of a topic whose node cannot be read      → left alone, not served

Kafka's own ``__cluster_metadata`` is left alone, so that Kafka can open the directory again.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.config import topic_defaults
from kafkastore.metadata.image import NO_LEADER, UNKNOWN_EPOCH, PartitionState, TopicImage
from kafkastore.metadata.nodes import encode_config, encode_state, new_id, topic_id_text, topic_nodes
from kafkastore.metadata.store import Create, Delete, SetData
from kafkastore.server.topics import DELETED_TOPICS

if TYPE_CHECKING:
    from kafkastore.metadata.store import Operation
    from kafkastore.server.context import BrokerServices

logger = logging.getLogger("kafkastore.server.reconcile")

_KAFKAS_OWN = frozenset(("__cluster_metadata",))


class _FoundLog(NamedTuple):
    partition: int
    topic_id: bytes | None
    log_dir: str


async def reconcile(broker: BrokerServices) -> None:
    """Runs after the engine has opened its logs and the image has the store's topics; see the module."""
    found: dict[str, list[_FoundLog]] = {}
    for name, partition, topic_id, log_dir, _, _ in broker.engine.logs():
        if name not in _KAFKAS_OWN:
            found.setdefault(name, []).append(_FoundLog(partition, topic_id, log_dir))
    await _finish_deletions(broker, found)
    adopted: list[TopicImage] = []
    is_any_stray = False
    for name, logs in found.items():
        if name in broker.spoiled_topics:  # F
            continue
        topic = broker.image.topic(name)
        if topic is None:
            topic = _adopt(broker, name, logs)
            adopted.append(topic)
        is_any_stray |= _claim(broker, topic, logs)
    if is_any_stray:
        await _forget_in_checkpoints(broker)
    if adopted:
        await _store_adopted(broker, adopted)
    _go_on_from_logs(broker)
    await _raise_epochs(broker, new_topics={topic.name for topic in adopted})
    await _make_missing(broker)
    await _elect(broker)


async def _finish_deletions(broker: BrokerServices, found: dict[str, list[_FoundLog]]) -> None:
    """Case E."""
    done: list[Operation] = []
    for name in await broker.store.get_children(DELETED_TOPICS):
        path = f"{DELETED_TOPICS}/{name}"
        deleted_id = (await broker.store.get(path)).data
        logs = found.get(name, [])
        doomed = [log for log in logs if log.topic_id in (None, deleted_id)]
        if name in broker.spoiled_topics:
            continue
        if doomed and broker.image.topic(name) is None:
            await broker.run_blocking(broker.engine.delete_logs, name, [log.partition for log in doomed])
            remaining = [log for log in logs if log not in doomed]
            found[name] = remaining
            if not remaining:
                del found[name]
            logger.info("Finished the deletion of topic %s", name)
        done.append(Delete(path))
    if done:
        await _forget_in_checkpoints(broker)
        await broker.store.multi(done)


async def _forget_in_checkpoints(broker: BrokerServices) -> None:
    """Logs that were deleted or set aside leave the checkpoints before others are made under their names: those would be
    taken, after a crash, to start where the old ones did."""
    await broker.run_blocking(broker.engine.write_checkpoints, True, False, True)


def _claim(broker: BrokerServices, topic: TopicImage, logs: list[_FoundLog]) -> bool:
    """Cases A and C; whether there was one of C."""
    is_any_stray = False
    for log in logs:
        is_ours = log.topic_id in (None, topic.topic_id) and log.partition < len(topic.partitions)
        if is_ours and broker.node_id in topic.partitions[log.partition].replicas:
            broker.log_manager.record(topic.name, log.partition, log.log_dir)
            continue
        logger.warning(
            "%s-%d in %s has topic id %s, the topic's is %s: set aside as -stray", topic.name, log.partition, log.log_dir,
            topic_id_text(log.topic_id) if log.topic_id else "none", topic_id_text(topic.topic_id),
        )  # fmt: skip
        broker.engine.mark_stray(topic.name, log.partition)
        is_any_stray = True
    return is_any_stray


# ---- D
def _adopt(broker: BrokerServices, name: str, logs: list[_FoundLog]) -> TopicImage:
    """A topic made from its directories: id from ``partition.metadata``, leader epochs above those in the logs."""
    logs.sort()
    topic_id = next((log.topic_id for log in logs if log.topic_id is not None), None) or new_id()
    me = (broker.node_id,)
    epochs = {log.partition: _last_leader_epoch(log.log_dir, name, log.partition) + 1 for log in logs}
    count = logs[-1].partition + 1
    partitions = [PartitionState(broker.node_id, epochs.get(number, 0), 0, me, me) for number in range(count)]
    configs = broker.topics.internal_configs(name)
    topic = TopicImage(name, topic_id, partitions, configs)
    broker.image.put_topic(topic)
    return topic


async def _store_adopted(broker: BrokerServices, adopted: list[TopicImage]) -> None:
    """Writes adopted topics to the store, with the configuration that Kafka's metadata log has for them."""
    from kafkastore.metadata.kafka_metadata_log import read_topic_configs

    kafkas = await broker.run_blocking(read_topic_configs, broker.log_manager.online)
    operations: list[Operation] = []
    for topic in adopted:
        topic.configs = {**topic.configs, **kafkas.get(topic.name, {})}
        operations += topic_nodes(topic, broker.image.controller_epoch)
        operations.append(Create(f"/config/topics/{topic.name}", encode_config(topic.configs)))
        if topic.configs:
            broker.engine.set_topic_config(topic.name, {**topic_defaults(broker.config), **topic.configs})
        logger.info("Adopted topic %s with %d partitions from the log directories", topic.name, len(topic.partitions))
    await broker.store.multi(operations)


def _last_leader_epoch(log_dir: str, topic: str, partition: int) -> int:
    """The last epoch in ``leader-epoch-checkpoint``; -1 when there is none."""
    try:
        with open(os.path.join(log_dir, f"{topic}-{partition}", "leader-epoch-checkpoint"), encoding="ascii") as file:
            lines = file.read().split("\n")
        return max((int(line.split()[0]) for line in lines[2:] if line.strip()), default=-1)
    except (OSError, ValueError):
        return -1


def _go_on_from_logs(broker: BrokerServices) -> None:
    """A state that could not be read does not tell the leader epoch; the next one is above those in the log."""
    for topic in broker.image.topics.values():
        for number, state in enumerate(topic.partitions):
            log_dir = broker.log_manager.directory_of(topic.name, number)
            if state.leader_epoch == UNKNOWN_EPOCH:
                last = -1 if log_dir is None else _last_leader_epoch(log_dir, topic.name, number)
                topic.partitions[number] = state._replace(leader_epoch=last + 1)


# ---- after an unclean stop
async def _raise_epochs(broker: BrokerServices, new_topics: set[str]) -> None:
    """Raises the leader epoch of every partition in a directory that was not stopped cleanly, in one transaction and
    before any lease: a client that has read records which went with the page cache asks where its epoch ends and learns
    that the log is shorter now (KIP-320). Adopted topics are in a new epoch already. After a clean stop nothing is
    written."""
    unclean = set(broker.engine.unclean_log_dirs())
    if not unclean:
        return
    changes: list[tuple[TopicImage, int, PartitionState]] = []
    raised: dict[PartitionState, PartitionState] = {}  # equal states stay one object
    for topic in broker.image.topics.values():
        if topic.name in new_topics:
            continue
        for number, state in enumerate(topic.partitions):
            if broker.log_manager.directory_of(topic.name, number) not in unclean:
                continue
            after = raised.get(state)
            if after is None:
                after = raised[state] = _in_next_epoch(state)
            changes.append((topic, number, after))
    await broker.store.multi([_state_node(broker, *change) for change in changes])
    for topic, number, state in changes:
        topic.partitions[number] = state
    logger.info(
        "%s not stopped cleanly: the leader epochs of the %d partitions there are raised",
        ", ".join(sorted(unclean)),
        len(changes),
    )


def _in_next_epoch(state: PartitionState) -> PartitionState:
    return state._replace(leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)


def _state_node(broker: BrokerServices, topic: TopicImage, number: int, state: PartitionState) -> SetData:
    path = f"/brokers/topics/{topic.name}/partitions/{number}/state"
    return SetData(path, encode_state(state, broker.image.controller_epoch))


# ---- B
async def _make_missing(broker: BrokerServices) -> None:
    wanted: list[tuple[TopicImage, list[int]]] = []
    for topic in broker.image.topics.values():
        missing = [
            number
            for number, state in enumerate(topic.partitions)
            if broker.node_id in state.replicas and broker.log_manager.directory_of(topic.name, number) is None
        ]
        if not missing:
            continue
        if broker.log_manager.failed:
            logger.error("%s: partitions %s may be in a failed log directory and are offline", topic.name, missing)
            for number in missing:
                topic.partitions[number] = topic.partitions[number]._replace(leader=NO_LEADER)
            continue
        wanted.append((topic, missing))
    if wanted:
        await broker.topics.make_logs(wanted)


async def _elect(broker: BrokerServices) -> None:
    """Partitions without a live leader that have this broker in sync get it as their leader, in a new epoch."""
    operations: list[Operation] = []
    for topic in broker.image.topics.values():
        for number, state in enumerate(topic.partitions):
            has_log = broker.log_manager.directory_of(topic.name, number) is not None
            if state.leader in broker.image.brokers or broker.node_id not in state.isr or not has_log:
                continue
            elected = _in_next_epoch(state)._replace(leader=broker.node_id)
            topic.partitions[number] = elected
            operations.append(_state_node(broker, topic, number, elected))
    await broker.store.multi(operations)
