"""Moves of partitions between brokers (KIP-455): those under way, begun and cancelled. See ``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.admin.admin_client import KafkaError, check, refusals
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.admin.topics import PartitionDescription

    Partition = tuple[str, int]


class Reassignment(NamedTuple):
    """A partition that moves: ``replicas`` are the current and the target ones together."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def wanted_replicas(partition: PartitionDescription, move: Reassignment | None) -> int:
    """How many replicas a partition is to have: without those that a move adds. A move that ended since it was asked
    for does not count."""
    is_moving = move is not None and {*move.adding, *move.removing} & set(partition.replicas)
    return len(partition.replicas) - (len(move.adding) if move is not None and is_moving else 0)


async def list_reassignments(
    client: AdminClient, partitions: Collection[Partition] | None = None
) -> dict[Partition, Reassignment]:
    """The moves under way, of these partitions or of all. Raises KafkaError, AdminError."""
    topics = None
    if partitions is not None:
        names = sorted({topic for topic, _ in partitions})
        topics = [
            {"name": name, "partition_indexes": tuple(number for topic, number in partitions if topic == name)}
            for name in names
        ]

    async def attempt() -> dict[Partition, Reassignment]:
        return moves_of(await _asked(client, "ListPartitionReassignments", {"topics": topics}))

    return await client.until_done(attempt)


async def visible_reassignments(client: AdminClient) -> dict[Partition, Reassignment]:
    """The same of all partitions; none where the user may not ask, or brokers cannot be asked (before Kafka 2.4)."""
    try:
        return await list_reassignments(client)
    except KafkastoreError as error:
        if error.code in (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.UNSUPPORTED_VERSION):
            return {}
        raise


async def alter_reassignments(
    client: AdminClient, targets: Mapping[Partition, Sequence[int] | None], *, allows_other_count: bool = True
) -> dict[Partition, KafkaError]:
    """Begins a move for each partition, or cancels its move where the target is None; those that were refused.
    ``allows_other_count``: whether a target may have more or fewer replicas, which Kafka before 4.1 always allows.
    Raises KafkaError, AdminError, when all are refused."""
    allowed = {} if allows_other_count else {"allow_replication_factor_change": False}

    async def attempt(keys: list[Partition]) -> dict[Partition, KafkaError]:
        topics = target_rows({key: targets[key] for key in keys})
        return refused_targets(await _asked(client, "AlterPartitionReassignments", {"topics": topics, **allowed}))

    async def settled() -> dict[Partition, KafkaError]:
        return await client.settled(targets, attempt)

    return await client.until_done(settled)


async def _asked(client: AdminClient, api: str, fields: Mapping[str, Any]) -> Any:
    answer = await client.ask_controller_to(api, fields)
    check(answer)
    return answer


def target_rows(targets: Mapping[Partition, Sequence[int] | None]) -> list[dict[str, Any]]:
    """Targets as the topics of an AlterPartitionReassignments request."""
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for (topic, number), target in targets.items():
        replicas = None if target is None else tuple(target)
        by_topic.setdefault(topic, []).append({"partition_index": number, "replicas": replicas})
    return [{"name": name, "partitions": partitions} for name, partitions in by_topic.items()]


def refused_targets(answer: Any) -> dict[Partition, KafkaError]:
    """The partitions that an answer to AlterPartitionReassignments refuses."""
    return refusals(((topic.name, one.partition_index), one) for topic in answer.responses for one in topic.partitions)


def moves_of(answer: Any) -> dict[Partition, Reassignment]:
    """The moves that an answer to ListPartitionReassignments names."""
    return {
        (topic.name, one.partition_index): Reassignment(
            tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
        )
        for topic in answer.topics
        for one in topic.partitions
    }
