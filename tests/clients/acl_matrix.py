"""Each API with a request about one resource, the error without any ACL, and the ACLs that suffice for it.

The requests name the topic ``t``, the group ``g`` and the transactional id ``x``. Whether a request is otherwise right
does not matter: the broker decides whether the client may ask before it looks.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from clients.acl_world import (
    ALTER,
    ALTER_CONFIGS,
    CLUSTER,
    CLUSTER_NAME,
    CREATE,
    DELETE,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    EVERYTHING,
    GROUP,
    IDEMPOTENT_WRITE,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    Acl,
)
from parity.messages import Answer

TOPIC_FAILED, GROUP_FAILED, CLUSTER_FAILED, TRANSACTIONAL_ID_FAILED = 29, 30, 31, 53
REFUSALS = {TOPIC_FAILED, GROUP_FAILED, CLUSTER_FAILED, TRANSACTIONAL_ID_FAILED}
USER = "CN=alice"


class Row(NamedTuple):
    api: str
    version: int
    given: dict[str, Any]
    refusal: int
    """The error without ACLs."""
    needs: tuple[tuple[int, int], ...]
    """(resource type, operation) of the ACLs that suffice."""

    @property
    def label(self) -> str:
        return f"{self.api}-{'-'.join(f'{kind}.{operation}' for kind, operation in self.needs)}"

    def acls(self) -> list[Acl]:
        return [Acl(USER, operation, kind, _NAMES[kind]) for kind, operation in self.needs]


_NAMES = {TOPIC: "t", GROUP: "g", CLUSTER: CLUSTER_NAME, TRANSACTIONAL_ID: "x"}

OF_TOPIC = {"name": "t", "partitions": [0]}
PRODUCER = {"producer_id": 1, "producer_epoch": 0}
COMMITTED = {
    "partition_index": 0,
    "committed_offset": 1,
    "committed_leader_epoch": -1,
    "committed_metadata": "",
}
COMMIT = {"topics": [{"name": "t", "partitions": [COMMITTED]}], "group_instance_id": None, "member_id": ""}
MEMBER = {"group_id": "g", "generation_id": 1, "member_id": "m", "group_instance_id": None}
TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32
ONE_TOPIC = ((TOPIC, DESCRIBE),)


def configs(kind: int, name: str) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    return {"resources": [resource], "include_synonyms": False, "include_documentation": False}


def changes(kind: int, name: str, **more: Any) -> dict[str, Any]:
    config = {"name": "retention.ms", "value": "1000000", **more}
    resource = {"resource_type": kind, "resource_name": name, "configs": [config]}
    return {"resources": [resource], "validate_only": True}


def init(transactional_id: str | None) -> dict[str, Any]:
    return {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": 10_000,
        "producer_id": -1,
        "producer_epoch": -1,
    }


ROWS = (
    Row(
        "fetch",
        12,
        {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1000,
            "isolation_level": 0,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [
                {
                    "topic": "t",
                    "partitions": [
                        {
                            "partition": 0,
                            "current_leader_epoch": -1,
                            "fetch_offset": 0,
                            "last_fetched_epoch": -1,
                            "log_start_offset": -1,
                            "partition_max_bytes": 1000,
                        }
                    ],
                }
            ],
            "forgotten_topics_data": [],
            "rack_id": "",
            "cluster_id": None,
        },
        TOPIC_FAILED,
        ((TOPIC, READ),),
    ),
    Row(
        "list_offsets",
        7,
        {
            "replica_id": -1,
            "isolation_level": 0,
            "topics": [
                {
                    "name": "t",
                    "partitions": [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}],
                }
            ],
        },
        TOPIC_FAILED,
        ONE_TOPIC,
    ),
    Row(
        "metadata",
        12,
        {
            "topics": [{"name": "t", "topic_id": None}],
            "allow_auto_topic_creation": False,
            "include_topic_authorized_operations": False,
        },
        TOPIC_FAILED,
        ONE_TOPIC,
    ),
    Row(
        "offset_commit",
        8,
        {"group_id": "g", "generation_id_or_member_epoch": -1, **COMMIT},
        GROUP_FAILED,
        ((GROUP, READ), (TOPIC, READ)),
    ),
    Row(
        "offset_fetch",
        8,
        {
            "groups": [{"group_id": "g", "topics": [{"name": "t", "partition_indexes": [0]}]}],
            "require_stable": False,
        },
        GROUP_FAILED,
        ((GROUP, DESCRIBE), (TOPIC, DESCRIBE)),
    ),
    Row("find_coordinator", 4, {"key_type": 0, "coordinator_keys": ["g"]}, GROUP_FAILED, ((GROUP, DESCRIBE),)),
    Row("find_coordinator", 3, {"key_type": 0, "key": "g"}, GROUP_FAILED, ((GROUP, DESCRIBE),)),
    Row(
        "find_coordinator",
        4,
        {"key_type": 1, "coordinator_keys": ["x"]},
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, DESCRIBE),),
    ),
    Row(
        "join_group",
        7,
        {
            "group_id": "g",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": "nobody",
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": b""}],
        },
        GROUP_FAILED,
        ((GROUP, READ),),
    ),
    Row(
        "sync_group",
        5,
        {**MEMBER, "protocol_type": "consumer", "protocol_name": "range", "assignments": []},
        GROUP_FAILED,
        ((GROUP, READ),),
    ),
    Row("heartbeat", 4, MEMBER, GROUP_FAILED, ((GROUP, READ),)),
    Row(
        "leave_group",
        5,
        {"group_id": "g", "members": [{"member_id": "m", "group_instance_id": None, "reason": None}]},
        GROUP_FAILED,
        ((GROUP, READ),),
    ),
    Row(
        "describe_groups",
        5,
        {"groups": ["g"], "include_authorized_operations": False},
        GROUP_FAILED,
        ((GROUP, DESCRIBE),),
    ),
    Row(
        "create_topics",
        7,
        {
            "topics": [{"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}],
            "timeout_ms": 10_000,
            "validate_only": True,
        },
        TOPIC_FAILED,
        ((TOPIC, CREATE),),
    ),
    Row(
        "create_topics",
        7,
        {
            "topics": [{"name": "t", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}],
            "timeout_ms": 10_000,
            "validate_only": True,
        },
        TOPIC_FAILED,
        ((CLUSTER, CREATE),),
    ),
    Row(
        "create_partitions",
        3,
        {"topics": [{"name": "t", "count": 2, "assignments": None}], "timeout_ms": 10_000, "validate_only": True},
        TOPIC_FAILED,
        ((TOPIC, ALTER),),
    ),
    Row(
        "delete_records",
        2,
        {"topics": [{"name": "t", "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout_ms": 10_000},
        TOPIC_FAILED,
        ((TOPIC, DELETE),),
    ),
    Row("init_producer_id", 4, init(None), CLUSTER_FAILED, ((CLUSTER, IDEMPOTENT_WRITE),)),
    Row("init_producer_id", 4, init(None), CLUSTER_FAILED, ((TOPIC, WRITE),)),
    Row("init_producer_id", 4, init("x"), TRANSACTIONAL_ID_FAILED, ((TRANSACTIONAL_ID, WRITE),)),
    Row(
        "add_offsets_to_txn",
        3,
        {"transactional_id": "x", "group_id": "g", **PRODUCER},
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, WRITE), (GROUP, READ)),
    ),
    Row(
        "add_partitions_to_txn",
        3,
        {
            "v3_and_below_transactional_id": "x",
            "v3_and_below_producer_id": 1,
            "v3_and_below_producer_epoch": 0,
            "v3_and_below_topics": [OF_TOPIC],
        },
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, WRITE), (TOPIC, WRITE)),
    ),
    Row(
        "end_txn",
        3,
        {"transactional_id": "x", "committed": True, **PRODUCER},
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, WRITE),),
    ),
    Row(
        "txn_offset_commit",
        3,
        {"transactional_id": "x", "group_id": "g", "generation_id_or_member_epoch": -1, **PRODUCER, **COMMIT},
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, WRITE), (GROUP, READ), (TOPIC, READ)),
    ),
    Row(
        "offset_for_leader_epoch",
        4,
        {
            "replica_id": -1,
            "topics": [{"topic": "t", "partitions": [{"partition": 0, "current_leader_epoch": -1, "leader_epoch": 0}]}],
        },
        TOPIC_FAILED,
        ONE_TOPIC,
    ),
    Row("describe_acls", 3, EVERYTHING, CLUSTER_FAILED, ((CLUSTER, DESCRIBE),)),
    Row(
        "create_acls",
        3,
        {"creations": [Acl("CN=nobody", READ).creation()]},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "delete_acls",
        3,
        {"filters": [{**EVERYTHING, "principal_filter": "User:CN=nobody"}]},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row("describe_configs", 4, configs(TOPIC_RESOURCE, "t"), TOPIC_FAILED, ((TOPIC, DESCRIBE_CONFIGS),)),
    Row("describe_configs", 4, configs(BROKER_RESOURCE, "1"), CLUSTER_FAILED, ((CLUSTER, DESCRIBE_CONFIGS),)),
    Row("describe_configs", 4, configs(GROUP_RESOURCE, "g"), GROUP_FAILED, ((GROUP, DESCRIBE_CONFIGS),)),
    Row("alter_configs", 2, changes(TOPIC_RESOURCE, "t"), TOPIC_FAILED, ((TOPIC, ALTER_CONFIGS),)),
    Row(
        "incremental_alter_configs",
        1,
        changes(TOPIC_RESOURCE, "t", config_operation=0),
        TOPIC_FAILED,
        ((TOPIC, ALTER_CONFIGS),),
    ),
    Row(
        "incremental_alter_configs",
        1,
        changes(BROKER_RESOURCE, "1", config_operation=0),
        CLUSTER_FAILED,
        ((CLUSTER, ALTER_CONFIGS),),
    ),
    Row(
        "alter_replica_log_dirs",
        2,
        {"dirs": [{"path": "/nowhere", "topics": [OF_TOPIC]}]},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row("describe_log_dirs", 4, {"topics": None}, CLUSTER_FAILED, ((CLUSTER, DESCRIBE),)),
    Row(
        "elect_leaders",
        2,
        {"election_type": 0, "topic_partitions": [{"topic": "t", "partitions": [0]}], "timeout_ms": 10_000},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "alter_partition_reassignments",
        0,
        {"timeout_ms": 10_000, "topics": [{"name": "t", "partitions": [{"partition_index": 0, "replicas": None}]}]},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "list_partition_reassignments",
        0,
        {"timeout_ms": 10_000, "topics": None},
        CLUSTER_FAILED,
        ((CLUSTER, DESCRIBE),),
    ),
    Row(
        "offset_delete",
        0,
        {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 0}]}]},
        GROUP_FAILED,
        ((GROUP, DELETE), (TOPIC, READ)),
    ),
    Row("delete_groups", 2, {"groups_names": ["g"]}, GROUP_FAILED, ((GROUP, DELETE),)),
    Row(
        "describe_client_quotas",
        1,
        {"components": [], "strict": False},
        CLUSTER_FAILED,
        ((CLUSTER, DESCRIBE_CONFIGS),),
    ),
    Row("describe_user_scram_credentials", 0, {"users": [{"name": "nobody"}]}, CLUSTER_FAILED, ((CLUSTER, DESCRIBE),)),
    Row(
        "alter_user_scram_credentials",
        0,
        {"deletions": [{"name": "nobody", "mechanism": 1}], "upsertions": []},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "update_features",
        1,
        {"timeout_ms": 10_000, "feature_updates": [], "validate_only": True},
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "describe_producers",
        0,
        {"topics": [{"name": "t", "partition_indexes": [0]}]},
        TOPIC_FAILED,
        ((TOPIC, READ),),
    ),
    Row(
        "describe_transactions",
        0,
        {"transactional_ids": ["x"]},
        TRANSACTIONAL_ID_FAILED,
        ((TRANSACTIONAL_ID, DESCRIBE),),
    ),
    Row("list_config_resources", 1, {"resource_types": [2]}, CLUSTER_FAILED, ((CLUSTER, DESCRIBE_CONFIGS),)),
    Row(
        "describe_topic_partitions",
        0,
        {"topics": [{"name": "t"}], "response_partition_limit": 100, "cursor": None},
        TOPIC_FAILED,
        ONE_TOPIC,
    ),
    Row(
        "describe_quorum",
        1,
        {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]},
        CLUSTER_FAILED,
        ((CLUSTER, DESCRIBE),),
    ),
    Row(
        "write_txn_markers",
        1,
        {
            "markers": [
                {
                    "producer_id": 1,
                    "producer_epoch": 0,
                    "transaction_result": False,
                    "topics": [{"name": "t", "partition_indexes": [0]}],
                    "coordinator_epoch": 0,
                }
            ]
        },
        CLUSTER_FAILED,
        ((CLUSTER, ALTER),),
    ),
    Row(
        "delete_topics",
        6,
        {"topics": [{"name": "t", "topic_id": None}], "timeout_ms": 10_000},
        TOPIC_FAILED,
        ((TOPIC, DELETE),),
    ),
)
"""The last one deletes the topic."""


def codes(answer: Any) -> list[int]:
    """Every error code in an answer, in order."""
    if isinstance(answer, tuple):
        return [code for one in answer for code in codes(one)]
    if not isinstance(answer, Answer):
        return []
    own = [int(answer.error_code)] if hasattr(answer, "error_code") else []
    own += [int(answer.partition_error_code)] if hasattr(answer, "partition_error_code") else []
    return own + [code for value in vars(answer).values() for code in codes(value)]
