"""The quorum of controllers that keeps a cluster's metadata (KIP-595, KIP-836, KIP-853): how far its members are. See
``admin_client.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import KafkaError, check
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.admin.admin_client import AdminClient

METADATA_TOPIC: Final = "__cluster_metadata"


class QuorumReplica(NamedTuple):
    """Times are milliseconds, -1 when not known. ``directory_id``: 16 bytes, zeros in a quorum of fixed voters."""

    node: int
    directory_id: bytes
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class Quorum(NamedTuple):
    """``leader`` is -1 when there is none. ``endpoints`` are (listener, host, port) of the controllers."""

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]
    endpoints: dict[int, list[tuple[str, str, int]]]


async def describe_quorum(client: AdminClient) -> Quorum:
    """Raises KafkaError, AdminError, UnsupportedApiError before Kafka 3.3."""
    return await client.until_done(lambda: quorum_once(client))


async def quorum_once(client: AdminClient) -> Quorum:
    """The same, asked once: there may be no leader now."""
    topic = {"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}
    answer = await client.ask_controller("DescribeQuorum", {"topics": [topic]})
    check(answer)
    found = [one for topic in answer.topics for one in topic.partitions]
    if not found:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    check(found[0])
    endpoints = {node.node_id: [(one.name, one.host, one.port) for one in node.listeners] for node in answer.nodes}
    return Quorum(
        found[0].leader_id,
        found[0].leader_epoch,
        found[0].high_watermark,
        list(_replicas(found[0].current_voters)),
        list(_replicas(found[0].observers)),
        endpoints,
    )


def _replicas(rows: Iterable[Any]) -> Iterable[QuorumReplica]:
    for one in rows:
        yield QuorumReplica(
            one.replica_id,
            one.replica_directory_id or bytes(16),
            one.log_end_offset,
            one.last_fetch_timestamp,
            one.last_caught_up_timestamp,
        )


async def remove_voter(client: AdminClient, node: int, directory_id: bytes) -> None:
    """Takes a controller out of the quorum (KIP-853). Raises KafkaError, AdminError, UnsupportedApiError."""
    fields = {"voter_id": node, "voter_directory_id": directory_id, "cluster_id": (await client.cluster()).cluster_id}
    check(await client.ask_controller("RemoveRaftVoter", fields))
