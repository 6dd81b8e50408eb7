"""Log directories of brokers: what is in them, and moves of replicas between those of one broker (KIP-113). Each broker
is asked about its own. See ``admin_client.py``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.admin.admin_client import NONE, KafkaError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kafkastore.admin.admin_client import AdminClient

    Partition = tuple[str, int]


class Replica(NamedTuple):
    """The replica of a partition on a broker."""

    broker: int
    topic: str
    partition: int

    @property
    def key(self) -> Partition:
        return self.topic, self.partition


class StoredReplica(NamedTuple):
    """``is_future``: it is being copied here from another directory of the same broker, and ``offset_lag`` is how far
    it is behind that one; of the current replica it is how far it is behind the high watermark."""

    size_bytes: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    """``error`` is set for one that the broker has taken out of use. The bytes of the file system are None from brokers
    before Kafka 3.3."""

    path: str
    error: KafkaError | None
    replicas: dict[Partition, StoredReplica]
    total_bytes: int | None
    usable_bytes: int | None
    is_cordoned: bool


class ReplicaPlace(NamedTuple):
    """Where a replica is, and where it is being moved to."""

    current: str | None
    future: str | None


async def describe_log_dirs(
    client: AdminClient, brokers: Collection[int] | None = None, partitions: Collection[Partition] | None = None
) -> dict[int, list[LogDir]]:
    """The directories of these brokers, or of all that are alive, with these partitions or all, by broker. Raises
    KafkaError, AdminError."""
    fields = {"topics": None if partitions is None else _by_topic(partitions, "topic", "partitions")}
    answers = await client.of_every_broker("DescribeLogDirs", fields, brokers)
    return {node: log_dirs_of(answer) for node, answer in answers.items()}


def log_dirs_of(answer: Any) -> list[LogDir]:
    """The directories of an answer. Raises KafkaError."""
    code = answer.error_code
    if code == NONE and not answer.results:  # what an older one says to those who may not ask
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if code != NONE:
        raise KafkaError(code)
    return [_log_dir(row) for row in answer.results]


def held_bytes(log_dirs: Collection[LogDir]) -> dict[Partition, int]:
    """The bytes of each partition on one broker; those on their way to another directory of it count once."""
    return {
        key: one.size_bytes for directory in log_dirs for key, one in directory.replicas.items() if not one.is_future
    }


async def replica_places(client: AdminClient, replicas: Collection[Replica]) -> dict[Replica, ReplicaPlace]:
    """Where these replicas are. Raises KafkaError, AdminError, also for a broker that is not alive."""
    found: dict[Replica, ReplicaPlace] = {}
    for node in sorted({one.broker for one in replicas}):
        wanted = {one.key: one for one in replicas if one.broker == node}
        for directory in (await describe_log_dirs(client, [node], list(wanted)))[node]:
            for key, stored in directory.replicas.items():
                known = found.get(wanted[key], ReplicaPlace(None, None))
                moved = {"future": directory.path} if stored.is_future else {"current": directory.path}
                found[wanted[key]] = known._replace(**moved)
    return {one: found.get(one, ReplicaPlace(None, None)) for one in replicas}


async def alter_replica_log_dirs(client: AdminClient, targets: Mapping[Replica, str]) -> dict[Replica, KafkaError]:
    """Begins to move replicas to other directories of their brokers; those that were refused. A replica that its broker
    has not yet, REPLICA_NOT_AVAILABLE, is made in that directory when it comes. Raises AdminError."""
    nodes = sorted({one.broker for one in targets})
    answers = await asyncio.gather(*(_alter_on(client, node, targets) for node in nodes))
    return {
        Replica(node, topic.topic_name, one.partition_index): KafkaError(one.error_code)
        for node, answer in zip(nodes, answers, strict=True)
        for topic in answer.results
        for one in topic.partitions
        if one.error_code != NONE
    }


async def _alter_on(client: AdminClient, node: int, targets: Mapping[Replica, str]) -> Any:
    by_path: dict[str, list[Partition]] = {}
    for replica, path in targets.items():
        if replica.broker == node:
            by_path.setdefault(path, []).append(replica.key)
    dirs = [{"path": path, "topics": _by_topic(keys, "name", "partitions")} for path, keys in by_path.items()]
    return await client.ask_broker(node, "AlterReplicaLogDirs", {"dirs": dirs})


def _by_topic(keys: Collection[Partition], topic: str, partitions: str) -> list[dict[str, Any]]:
    numbers: dict[str, list[int]] = {}
    for name, number in keys:
        numbers.setdefault(name, []).append(number)
    return [{topic: name, partitions: tuple(found)} for name, found in numbers.items()]


def _log_dir(row: Any) -> LogDir:
    replicas = {
        (topic.name, one.partition_index): StoredReplica(one.partition_size, one.offset_lag, one.is_future_key)
        for topic in row.topics
        for one in topic.partitions
    }
    error = None if row.error_code == NONE else KafkaError(row.error_code)
    total, usable = (None if count < 0 else count for count in (row.total_bytes, row.usable_bytes))
    return LogDir(row.log_dir, error, replicas, total, usable, row.is_cordoned)
