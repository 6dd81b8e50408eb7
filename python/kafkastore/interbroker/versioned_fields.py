"""Fields of responses that not every served version has: a handler gives them to all. Made by ``make schema``."""

from __future__ import annotations

from typing import Final

VERSIONED_FIELDS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "alter_partition_reassignments": {
        "AlterPartitionReassignmentsResponse": ("allow_replication_factor_change",),
    },
    "create_delegation_token": {
        "CreateDelegationTokenResponse": ("token_requester_principal_type", "token_requester_principal_name"),
    },
    "create_topics": {
        "CreatableTopicResult": (
            "error_message",
            "topic_config_error_code",
            "num_partitions",
            "replication_factor",
            "configs",
            "topic_id",
        ),
        "CreateTopicsResponse": ("throttle_time",),
    },
    "delete_acls": {
        "DeleteAclsMatchingAcl": ("pattern_type",),
    },
    "delete_topics": {
        "DeletableTopicResult": ("error_message", "topic_id"),
        "DeleteTopicsResponse": ("throttle_time",),
    },
    "describe_acls": {
        "DescribeAclsResource": ("pattern_type",),
    },
    "describe_cluster": {
        "DescribeClusterBroker": ("is_fenced",),
        "DescribeClusterResponse": ("endpoint_type",),
    },
    "describe_configs": {
        "DescribeConfigsResourceResult": ("is_default", "config_source", "synonyms", "config_type", "documentation"),
    },
    "describe_delegation_token": {
        "DescribedDelegationToken": ("token_requester_principal_type", "token_requester_principal_name"),
    },
    "describe_groups": {
        "DescribedGroupMember": ("group_instance_id",),
        "DescribedGroup": ("authorized_operations", "error_message"),
        "DescribeGroupsResponse": ("throttle_time",),
    },
    "describe_log_dirs": {
        "DescribeLogDirsResult": ("total_bytes", "usable_bytes", "is_cordoned"),
        "DescribeLogDirsResponse": ("error_code",),
    },
    "describe_quorum": {
        "ReplicaState": ("last_fetch_timestamp", "last_caught_up_timestamp", "replica_directory_id"),
        "PartitionData": ("error_message",),
        "DescribeQuorumResponse": ("error_message", "nodes"),
    },
    "elect_leaders": {
        "ElectLeadersResponse": ("error_code",),
    },
    "find_coordinator": {
        "FindCoordinatorResponse": (
            "error_code",
            "node_id",
            "host",
            "port",
            "throttle_time",
            "error_message",
            "coordinators",
        ),
    },
    "join_group": {
        "JoinGroupResponseMember": ("group_instance_id",),
        "JoinGroupResponse": ("throttle_time", "protocol_type", "skip_assignment"),
    },
    "leave_group": {
        "LeaveGroupResponse": ("throttle_time", "members"),
    },
    "list_config_resources": {
        "ConfigResource": ("resource_type",),
    },
    "list_groups": {
        "ListedGroup": ("group_state", "group_type"),
        "ListGroupsResponse": ("throttle_time",),
    },
    "metadata": {
        "MetadataResponseBroker": ("rack",),
        "MetadataResponsePartition": ("offline_replicas", "leader_epoch"),
        "MetadataResponseTopic": ("is_internal", "topic_authorized_operations", "topic_id"),
        "MetadataResponse": (
            "controller_id",
            "cluster_id",
            "throttle_time",
            "cluster_authorized_operations",
            "error_code",
        ),
    },
    "offset_for_leader_epoch": {
        "EpochEndOffset": ("leader_epoch",),
        "OffsetForLeaderEpochResponse": ("throttle_time",),
    },
    "sync_group": {
        "SyncGroupResponse": ("throttle_time", "protocol_type", "protocol_name"),
    },
    "update_features": {
        "UpdateFeaturesResponse": ("results",),
    },
}
"""By the API's module and the class."""
