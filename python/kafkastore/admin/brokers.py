"""Brokers of a cluster: which there are, what they serve, and taking the registration of one away. See
``admin_client.py``."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import message_key
from kafkastore.admin.admin_client import AdminError, check
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.messages import request_versions

if TYPE_CHECKING:
    from kafkastore.admin.admin_client import AdminClient

BROKERS, CONTROLLERS = 1, 2
"""Types of endpoints (KIP-919)."""
TYPED, FENCED = 1, 2
"""The versions of DescribeCluster from which on it takes them, and tells of brokers that are not alive."""

# Of Kafka 4.4, in the order of their keys, those that brokers serve. Keys and versions are the table's of messages.
CLIENT_APIS = (
    "Produce Fetch ListOffsets Metadata OffsetCommit OffsetFetch FindCoordinator JoinGroup Heartbeat LeaveGroup "
    "SyncGroup DescribeGroups ListGroups SaslHandshake ApiVersions CreateTopics DeleteTopics DeleteRecords "
    "InitProducerId OffsetForLeaderEpoch AddPartitionsToTxn AddOffsetsToTxn EndTxn WriteTxnMarkers TxnOffsetCommit "
    "DescribeAcls CreateAcls DeleteAcls DescribeConfigs AlterConfigs AlterReplicaLogDirs DescribeLogDirs "
    "SaslAuthenticate CreatePartitions CreateDelegationToken RenewDelegationToken ExpireDelegationToken "
    "DescribeDelegationToken DeleteGroups ElectLeaders IncrementalAlterConfigs AlterPartitionReassignments "
    "ListPartitionReassignments OffsetDelete DescribeClientQuotas AlterClientQuotas DescribeUserScramCredentials "
    "AlterUserScramCredentials DescribeQuorum UpdateFeatures DescribeCluster DescribeProducers UnregisterBroker "
    "DescribeTransactions ListTransactions ConsumerGroupHeartbeat ConsumerGroupDescribe GetTelemetrySubscriptions "
    "PushTelemetry ListConfigResources DescribeTopicPartitions ShareGroupHeartbeat ShareGroupDescribe ShareFetch "
    "ShareAcknowledge AddRaftVoter RemoveRaftVoter InitializeShareGroupState ReadShareGroupState "
    "WriteShareGroupState DeleteShareGroupState ReadShareGroupStateSummary StreamsGroupHeartbeat "
    "StreamsGroupDescribe DescribeShareGroupOffsets AlterShareGroupOffsets DeleteShareGroupOffsets "
    "StreamsGroupTopologyDescriptionUpdate UnregisterController"
)
CONTROLLER_APIS = (
    "Vote BeginQuorumEpoch EndQuorumEpoch AlterPartition Envelope FetchSnapshot BrokerRegistration BrokerHeartbeat "
    "AllocateProducerIds ControllerRegistration AssignReplicasToDirs UpdateRaftVoter"
)
"""Those that controllers alone serve."""
UNSTABLE = {"InitProducerId": 6}
"""Versions from which on Kafka 4.4's clients use an API only where unstable ones are allowed."""


class Broker(NamedTuple):
    """``is_fenced``: it is registered and not alive; such are told of where they are asked for."""

    host: str
    port: int
    rack: str | None
    is_fenced: bool


class ClusterDescription(NamedTuple):
    cluster_id: str
    controller: int
    brokers: dict[int, Broker]


class ServedApi(NamedTuple):
    """``name`` is None for an API that Kafka 4.4 has not, ``served`` for one that the broker has not; ``usable`` is the
    version that Kafka 4.4's clients would use."""

    key: int
    name: str | None
    served: tuple[int, int] | None
    usable: int | None


async def describe_cluster(
    client: AdminClient, *, endpoint_type: int = BROKERS, includes_fenced: bool = False
) -> ClusterDescription:
    """The brokers, or the controllers of Kafka's quorum. Raises KafkaError, AdminError, UnsupportedApiError before
    Kafka 2.8."""
    fields: dict[str, object] = {"include_cluster_authorized_operations": False}
    version = 0  # the lowest that says it: older brokers have it, too
    if endpoint_type != BROKERS:
        fields["endpoint_type"], version = endpoint_type, TYPED
    if includes_fenced:
        fields |= {"endpoint_type": endpoint_type, "include_fenced_brokers": True}
        version = FENCED
    answer = await client.ask_any("DescribeCluster", fields, highest=version)
    check(answer)
    brokers = {one.broker_id: Broker(one.host, one.port, one.rack, one.is_fenced) for one in answer.brokers}
    return ClusterDescription(answer.cluster_id, answer.controller_id, brokers)


async def served_apis(client: AdminClient) -> dict[int, list[ServedApi] | KafkastoreError]:
    """What each broker that is alive serves, by API, or why it does not say."""
    cluster = await client.cluster()

    async def of(node: int) -> list[ServedApi] | KafkastoreError:
        try:
            return _apis(await client.served_by(cluster.brokers[node].host, cluster.brokers[node].port))
        except AdminError as error:
            return error

    nodes = sorted(cluster.brokers)
    return dict(zip(nodes, await asyncio.gather(*map(of, nodes)), strict=True))


async def unregister_broker(client: AdminClient, node: int) -> None:
    """Makes the cluster forget a broker that is gone for good. Raises KafkaError, UnsupportedApiError where there is no
    such thing."""

    async def attempt() -> None:
        check(await client.ask_controller("UnregisterBroker", {"broker_id": node}))

    await client.until_done(attempt)


async def unregister_controller(client: AdminClient, node: int) -> None:
    """The same for a controller, from Kafka 4.4 on."""

    async def attempt() -> None:
        check(await client.ask_controller("UnregisterController", {"controller_id": node}))

    await client.until_done(attempt)


def api_name(key: int) -> str | None:
    return _keys(CLIENT_APIS).get(key) or _keys(CONTROLLER_APIS).get(key)


@cache
def _keys(names: str) -> dict[int, str]:
    keys = {message_key(f"{name}Request"): name for name in names.split()}
    return {key: name for key, name in keys.items() if key is not None}


def _apis(served: dict[int, tuple[int, int]]) -> list[ServedApi]:
    found = []
    for key in sorted(_keys(CLIENT_APIS).keys() | served.keys()):
        name = api_name(key)
        usable = None
        if name is not None and key in served:
            low, high = request_versions(name)
            usable = min(high, served[key][1], UNSTABLE.get(name, high + 1) - 1)
            usable = usable if usable >= max(low, served[key][0]) else None
        found.append(ServedApi(key, name, served.get(key), usable))
    return found


def is_unsupported(error: KafkastoreError) -> bool:
    """Whether an error says that a cluster has no such API."""
    return error.code == ErrorCode.UNSUPPORTED_VERSION
