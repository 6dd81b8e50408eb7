"""Types of ``since.py``; made by ``make schema``, see ``__init__.py``."""

from typing import Literal, overload

from typing_extensions import TypeIs

from kafkastore.interbroker.request_types import (
    alter_partition,
    alter_partition_reassignments,
    create_acls,
    create_delegation_token,
    create_topics,
    delete_acls,
    delete_topics,
    describe_acls,
    describe_cluster,
    describe_configs,
    describe_groups,
    elect_leaders,
    find_coordinator,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_transactions,
    metadata,
    offset_for_leader_epoch,
    sync_group,
    update_features,
)

@overload
def since(entity: alter_partition.PartitionData, version: Literal[3]) -> TypeIs[alter_partition.PartitionDataV3]: ...
@overload
def since(
    entity: alter_partition_reassignments.AlterPartitionReassignmentsRequest, version: Literal[1]
) -> TypeIs[alter_partition_reassignments.AlterPartitionReassignmentsRequestV1]: ...
@overload
def since(entity: create_acls.AclCreation, version: Literal[1]) -> TypeIs[create_acls.AclCreationV1]: ...
@overload
def since(
    entity: create_delegation_token.CreateDelegationTokenRequest, version: Literal[3]
) -> TypeIs[create_delegation_token.CreateDelegationTokenRequestV3]: ...
@overload
def since(
    entity: create_topics.CreateTopicsRequest, version: Literal[1]
) -> TypeIs[create_topics.CreateTopicsRequestV1]: ...
@overload
def since(entity: delete_acls.DeleteAclsFilter, version: Literal[1]) -> TypeIs[delete_acls.DeleteAclsFilterV1]: ...
@overload
def since(
    entity: delete_topics.DeleteTopicsRequest, version: Literal[6]
) -> TypeIs[delete_topics.DeleteTopicsRequestV6]: ...
@overload
def since(
    entity: describe_acls.DescribeAclsRequest, version: Literal[1]
) -> TypeIs[describe_acls.DescribeAclsRequestV1]: ...
@overload
def since(
    entity: describe_cluster.DescribeClusterRequest, version: Literal[1]
) -> TypeIs[describe_cluster.DescribeClusterRequestV1 | describe_cluster.DescribeClusterRequestV2]: ...
@overload
def since(
    entity: describe_cluster.DescribeClusterRequest, version: Literal[2]
) -> TypeIs[describe_cluster.DescribeClusterRequestV2]: ...
@overload
def since(
    entity: describe_configs.DescribeConfigsRequest, version: Literal[1]
) -> TypeIs[describe_configs.DescribeConfigsRequestV1 | describe_configs.DescribeConfigsRequestV3]: ...
@overload
def since(
    entity: describe_configs.DescribeConfigsRequest, version: Literal[3]
) -> TypeIs[describe_configs.DescribeConfigsRequestV3]: ...
@overload
def since(
    entity: describe_groups.DescribeGroupsRequest, version: Literal[3]
) -> TypeIs[describe_groups.DescribeGroupsRequestV3]: ...
@overload
def since(
    entity: elect_leaders.ElectLeadersRequest, version: Literal[1]
) -> TypeIs[elect_leaders.ElectLeadersRequestV1]: ...
@overload
def since(
    entity: find_coordinator.FindCoordinatorRequest, version: Literal[1]
) -> TypeIs[find_coordinator.FindCoordinatorRequestV1 | find_coordinator.FindCoordinatorRequestV4]: ...
@overload
def since(
    entity: find_coordinator.FindCoordinatorRequest, version: Literal[4]
) -> TypeIs[find_coordinator.FindCoordinatorRequestV4]: ...
@overload
def since(
    entity: init_producer_id.InitProducerIdRequest, version: Literal[3]
) -> TypeIs[init_producer_id.InitProducerIdRequestV3]: ...
@overload
def since(
    entity: join_group.JoinGroupRequest, version: Literal[1]
) -> TypeIs[join_group.JoinGroupRequestV1 | join_group.JoinGroupRequestV5 | join_group.JoinGroupRequestV8]: ...
@overload
def since(
    entity: join_group.JoinGroupRequest, version: Literal[5]
) -> TypeIs[join_group.JoinGroupRequestV5 | join_group.JoinGroupRequestV8]: ...
@overload
def since(entity: join_group.JoinGroupRequest, version: Literal[8]) -> TypeIs[join_group.JoinGroupRequestV8]: ...
@overload
def since(entity: leave_group.LeaveGroupRequest, version: Literal[3]) -> TypeIs[leave_group.LeaveGroupRequestV3]: ...
@overload
def since(entity: leave_group.MemberIdentity, version: Literal[5]) -> TypeIs[leave_group.MemberIdentityV5]: ...
@overload
def since(
    entity: list_config_resources.ListConfigResourcesRequest, version: Literal[1]
) -> TypeIs[list_config_resources.ListConfigResourcesRequestV1]: ...
@overload
def since(
    entity: list_groups.ListGroupsRequest, version: Literal[4]
) -> TypeIs[list_groups.ListGroupsRequestV4 | list_groups.ListGroupsRequestV5]: ...
@overload
def since(entity: list_groups.ListGroupsRequest, version: Literal[5]) -> TypeIs[list_groups.ListGroupsRequestV5]: ...
@overload
def since(
    entity: list_transactions.ListTransactionsRequest, version: Literal[1]
) -> TypeIs[list_transactions.ListTransactionsRequestV1 | list_transactions.ListTransactionsRequestV2]: ...
@overload
def since(
    entity: list_transactions.ListTransactionsRequest, version: Literal[2]
) -> TypeIs[list_transactions.ListTransactionsRequestV2]: ...
@overload
def since(entity: metadata.MetadataRequestTopic, version: Literal[10]) -> TypeIs[metadata.MetadataRequestTopicV10]: ...
@overload
def since(
    entity: metadata.MetadataRequest, version: Literal[4]
) -> TypeIs[metadata.MetadataRequestV4 | metadata.MetadataRequestV8 | metadata.MetadataRequestV11]: ...
@overload
def since(
    entity: metadata.MetadataRequest, version: Literal[8]
) -> TypeIs[metadata.MetadataRequestV8 | metadata.MetadataRequestV11]: ...
@overload
def since(entity: metadata.MetadataRequest, version: Literal[11]) -> TypeIs[metadata.MetadataRequestV11]: ...
@overload
def since(
    entity: offset_for_leader_epoch.OffsetForLeaderPartition, version: Literal[2]
) -> TypeIs[offset_for_leader_epoch.OffsetForLeaderPartitionV2]: ...
@overload
def since(
    entity: offset_for_leader_epoch.OffsetForLeaderEpochRequest, version: Literal[3]
) -> TypeIs[offset_for_leader_epoch.OffsetForLeaderEpochRequestV3]: ...
@overload
def since(
    entity: sync_group.SyncGroupRequest, version: Literal[3]
) -> TypeIs[sync_group.SyncGroupRequestV3 | sync_group.SyncGroupRequestV5]: ...
@overload
def since(entity: sync_group.SyncGroupRequest, version: Literal[5]) -> TypeIs[sync_group.SyncGroupRequestV5]: ...
@overload
def since(
    entity: update_features.FeatureUpdateKey, version: Literal[1]
) -> TypeIs[update_features.FeatureUpdateKeyV1]: ...
@overload
def since(
    entity: update_features.UpdateFeaturesRequest, version: Literal[1]
) -> TypeIs[update_features.UpdateFeaturesRequestV1]: ...
