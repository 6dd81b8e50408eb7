"""The one table of APIs: which APIs are served, in which versions, by which plane.

Dispatch, the ApiVersions that the data plane answers, the generated documentation table and the tests all come from
here. The ranges are those that Apache Kafka 4.4 advertises (InitProducerId 6 is unstable there and so not offered), but
for the last versions of ApiVersions, DeleteGroups and TxnOffsetCommit; and before them the versions that Kafka 4
dropped (KIP-896), which clients of 2015 to 2017 send. Those are not served when ``log.message.format.legacy.enable`` is
false. Produce is advertised from 0 even then, because older librdkafka turns compression off otherwise (KAFKA-18659).

``module`` is at once the name of the handler (``kafkastore.handlers.<module>``), which is imported when the first
request of that API arrives, and of the messages' types (``kafkastore.protocol.<module>``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkastore._core import ServedVersions

NO_FLEXIBLE_VERSION = 32767

MAX_ROWS = 120_000
"""The most rows of a client's request: enough for the 100,000 partitions of the largest cluster, and their topics.
Reading them takes some 20 ms and 15 MB."""

_DEARER_ROWS = {
    "AlterClientQuotas": 60_000,
    "AlterConfigs": 60_000,
    "CreateAcls": 60_000,
    "DeleteTopics": 40_000,
    "DescribeClientQuotas": 80_000,
    "DescribeConfigs": 80_000,
    "IncrementalAlterConfigs": 60_000,
}
"""Lower limits for the requests of which reading :data:`MAX_ROWS` takes longer. It takes 60 ms for requests that change
configurations (a resource with one key is two rows: 30,000 resources), and for requests that delete topics or create
ACLs (each is one row, with an id or with six fields). It takes 50 ms on a slow machine for requests that describe
configurations or quotas."""


_KAFKA_4_FROM = {
    "Produce": 3,
    "Fetch": 4,
    "ListOffsets": 1,
    "OffsetCommit": 2,
    "OffsetFetch": 1,
    "CreateTopics": 2,
    "DeleteTopics": 1,
    "OffsetForLeaderEpoch": 2,
    "DescribeAcls": 1,
    "CreateAcls": 1,
    "DeleteAcls": 1,
    "DescribeConfigs": 1,
    "AlterReplicaLogDirs": 1,
    "DescribeLogDirs": 1,
    "CreateDelegationToken": 1,
    "RenewDelegationToken": 1,
    "ExpireDelegationToken": 1,
    "DescribeDelegationToken": 1,
}
"""The first version that Kafka 4 serves, where older versions are served here."""


class Api:
    """One row: an API and how it is served. Immutable."""

    __slots__ = (
        "flexible_from",
        "is_inter_broker",
        "kafka_4_from",
        "key",
        "max_version",
        "min_version",
        "module",
        "name",
        "plane",
    )

    def __init__(
        self,
        key: int,
        name: str,
        min_version: int,
        max_version: int,
        flexible_from: int,
        plane: str,
        module: str,
        *,
        is_inter_broker: bool = False,
    ) -> None:
        self.key = key
        self.name = name
        self.min_version = min_version
        self.kafka_4_from = _KAFKA_4_FROM.get(name, min_version)  # the first version that is always served
        self.max_version = max_version
        self.flexible_from = flexible_from
        # "data": answered by Rust (Metadata comes here only to create topics); "control": by a handler, for
        # FindCoordinator, InitProducerId and AddOffsetsToTxn when Rust cannot answer
        self.plane = plane
        self.module = module
        self.is_inter_broker = is_inter_broker

    def has_version(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def is_flexible(self, version: int) -> bool:
        return version >= self.flexible_from

    @property
    def max_rows(self) -> int | None:
        """The most rows of a request; None, no limit, for requests between brokers."""
        if self.is_inter_broker:
            return None
        return _DEARER_ROWS.get(self.name, MAX_ROWS)

    def __repr__(self) -> str:
        return f"Api({self.name} {self.min_version}-{self.max_version})"


_ROWS = (
    (0, "Produce", 0, 13, 9, "data", "produce"),
    (1, "Fetch", 0, 18, 12, "data", "fetch"),
    (2, "ListOffsets", 0, 11, 6, "data", "list_offsets"),
    (3, "Metadata", 0, 13, 9, "data", "metadata"),
    (8, "OffsetCommit", 0, 10, 8, "data", "offset_commit"),
    (9, "OffsetFetch", 0, 10, 6, "data", "offset_fetch"),
    (10, "FindCoordinator", 0, 6, 3, "control", "find_coordinator"),
    (11, "JoinGroup", 0, 9, 6, "control", "join_group"),
    (12, "Heartbeat", 0, 4, 4, "data", "heartbeat"),
    (13, "LeaveGroup", 0, 5, 4, "control", "leave_group"),
    (14, "SyncGroup", 0, 5, 4, "control", "sync_group"),
    (15, "DescribeGroups", 0, 6, 5, "control", "describe_groups"),
    (16, "ListGroups", 0, 5, 3, "control", "list_groups"),
    (18, "ApiVersions", 0, 4, 3, "data", "api_versions"),
    (19, "CreateTopics", 0, 7, 5, "control", "create_topics"),
    (20, "DeleteTopics", 0, 6, 4, "control", "delete_topics"),
    (21, "DeleteRecords", 0, 2, 2, "control", "delete_records"),
    (22, "InitProducerId", 0, 5, 2, "control", "init_producer_id"),
    (23, "OffsetForLeaderEpoch", 0, 4, 4, "control", "offset_for_leader_epoch"),
    (24, "AddPartitionsToTxn", 0, 5, 3, "data", "add_partitions_to_txn"),
    (25, "AddOffsetsToTxn", 0, 4, 3, "control", "add_offsets_to_txn"),
    (26, "EndTxn", 0, 5, 3, "data", "end_txn"),
    (27, "WriteTxnMarkers", 1, 2, 1, "data", "write_txn_markers"),
    (28, "TxnOffsetCommit", 0, 5, 3, "data", "txn_offset_commit"),
    (29, "DescribeAcls", 0, 3, 2, "control", "describe_acls"),
    (30, "CreateAcls", 0, 3, 2, "control", "create_acls"),
    (31, "DeleteAcls", 0, 3, 2, "control", "delete_acls"),
    (32, "DescribeConfigs", 0, 4, 4, "control", "describe_configs"),
    (33, "AlterConfigs", 0, 2, 2, "control", "alter_configs"),
    (34, "AlterReplicaLogDirs", 0, 2, 2, "control", "alter_replica_log_dirs"),
    (35, "DescribeLogDirs", 0, 5, 2, "control", "describe_log_dirs"),
    (37, "CreatePartitions", 0, 3, 2, "control", "create_partitions"),
    (38, "CreateDelegationToken", 0, 3, 2, "control", "create_delegation_token"),
    (39, "RenewDelegationToken", 0, 2, 2, "control", "renew_delegation_token"),
    (40, "ExpireDelegationToken", 0, 2, 2, "control", "expire_delegation_token"),
    (41, "DescribeDelegationToken", 0, 3, 2, "control", "describe_delegation_token"),
    (42, "DeleteGroups", 0, 2, 2, "control", "delete_groups"),
    (43, "ElectLeaders", 0, 2, 2, "control", "elect_leaders"),
    (44, "IncrementalAlterConfigs", 0, 1, 1, "control", "incremental_alter_configs"),
    (45, "AlterPartitionReassignments", 0, 1, 0, "control", "alter_partition_reassignments"),
    (46, "ListPartitionReassignments", 0, 0, 0, "control", "list_partition_reassignments"),
    (47, "OffsetDelete", 0, 0, NO_FLEXIBLE_VERSION, "control", "offset_delete"),
    (48, "DescribeClientQuotas", 0, 1, 1, "control", "describe_client_quotas"),
    (49, "AlterClientQuotas", 0, 1, 1, "control", "alter_client_quotas"),
    (50, "DescribeUserScramCredentials", 0, 0, 0, "control", "describe_user_scram_credentials"),
    (51, "AlterUserScramCredentials", 0, 0, 0, "control", "alter_user_scram_credentials"),
    (55, "DescribeQuorum", 0, 2, 0, "control", "describe_quorum"),
    (57, "UpdateFeatures", 0, 2, 0, "control", "update_features"),
    (60, "DescribeCluster", 0, 2, 0, "control", "describe_cluster"),
    (61, "DescribeProducers", 0, 0, 0, "control", "describe_producers"),
    (65, "DescribeTransactions", 0, 0, 0, "control", "describe_transactions"),
    (66, "ListTransactions", 0, 2, 0, "control", "list_transactions"),
    (74, "ListConfigResources", 0, 1, 0, "control", "list_config_resources"),
    (75, "DescribeTopicPartitions", 0, 0, 0, "control", "describe_topic_partitions"),
)

_INTER_BROKER_ROWS = (
    (4, "LeaderAndIsr", 7, 7, 4, "control", "leader_and_isr"),
    (5, "StopReplica", 4, 4, 2, "control", "stop_replica"),
    (6, "UpdateMetadata", 8, 8, 6, "control", "update_metadata"),
    (7, "ControlledShutdown", 3, 3, 3, "control", "controlled_shutdown"),
    (56, "AlterPartition", 2, 3, 0, "control", "alter_partition"),
    (58, "Envelope", 0, 0, 0, "control", "envelope"),
)
_AUTHENTICATION_ROWS = (
    (17, "SaslHandshake", 0, 1, NO_FLEXIBLE_VERSION, "data", "sasl_handshake"),
    (36, "SaslAuthenticate", 0, 2, 2, "data", "sasl_authenticate"),
)
_OWN_ROWS = ((27000, "AdoptSegments", 0, 0, 0, "data", "adopt_segments"),)

APIS: tuple[Api, ...] = tuple(Api(*row) for row in _ROWS)
OWN_APIS: tuple[Api, ...] = tuple(Api(*row) for row in _OWN_ROWS)
"""APIs that Apache Kafka has not, far from the keys that it gives away in order. ApiVersions lists them, so that a
client knows beforehand that a broker has none of them; clients of Kafka ignore keys that they do not know."""

INTER_BROKER_APIS: tuple[Api, ...] = tuple(Api(*row, is_inter_broker=True) for row in _INTER_BROKER_ROWS)
"""Requests between brokers, on the listener ``inter.broker.listener.name`` alone; not advertised in ApiVersions."""

AUTHENTICATION_APIS: tuple[Api, ...] = tuple(Api(*row) for row in _AUTHENTICATION_ROWS)
"""How brokers, and clients of listeners with SASL, prove who they are; advertised only where a listener has SASL."""

BY_KEY: dict[int, Api] = {api.key: api for api in APIS + OWN_APIS + INTER_BROKER_APIS}
BY_NAME: dict[str, Api] = {api.name: api for api in APIS + OWN_APIS + INTER_BROKER_APIS}


def markdown_table(kafka: Mapping[int, str]) -> str:
    """The table of the documentation: each API served, its versions beside Apache Kafka's (``kafka``, by key), and the
    plane or handler that serves it."""
    rows = ["| key | API | Apache Kafka 4.4 | here | flexible from | served by |", "|---|---|---|---|---|---|"]
    for api in APIS:
        flexible = "none" if api.flexible_from == NO_FLEXIBLE_VERSION else str(api.flexible_from)
        versions = f"{api.min_version}-{api.max_version}" if api.max_version > api.min_version else str(api.min_version)
        plane = "data plane (Rust)" if api.plane == "data" else f"`handlers/{api.module}.py`"
        rows.append(f"| {api.key} | {api.name} | {kafka[api.key]} | {versions} | {flexible} | {plane} |")
    return "\n".join(rows) + "\n"


def api_version_ranges(*, serves_legacy: bool, has_sasl: bool = False) -> list[ServedVersions]:
    """The argument of ``Engine.publish_api_versions``; ``serves_legacy`` is ``log.message.format.legacy.enable``,
    ``has_sasl`` whether a listener has SASL."""
    from kafkastore._core import ServedVersions  # here, since the table is also read where there is no engine

    served = [(api, True) for api in APIS + OWN_APIS]
    served += [(api, False) for api in INTER_BROKER_APIS]
    served += [(api, has_sasl) for api in AUTHENTICATION_APIS]
    return [
        ServedVersions(
            api_key=api.key,
            min_version=api.min_version if serves_legacy else api.kafka_4_from,
            max_version=api.max_version,
            flexible_from=api.flexible_from,
            is_advertised=is_told,
        )
        for api, is_told in served
    ]
