"""DescribeGroups. Before version 6 a group that does not exist is a Dead one without an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.listing import DescribedGroup
    from kafkastore.server.context import RequestContext

# What an authorizer that allows everything lists for a group: bits 3 READ, 6 DELETE, 8 DESCRIBE, 10 and 11 configs.
ALL_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
NOT_ASKED: Final = -(1 << 31)


async def handle(context: RequestContext, request: Any) -> Any:
    wants_operations = context.api_version >= 3 and request.include_authorized_operations
    describe = context.broker.group_coordinator.describe_group
    return context.response(
        groups=[_entity(context, describe(group_id), wants_operations) for group_id in request.groups]
    )


def _entity(context: RequestContext, group: DescribedGroup, wants_operations: bool) -> Any:
    error_code, message = group.error_code, None
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        if context.api_version >= 6:
            message = f"Group {group.group_id} not found."
        else:
            error_code = ErrorCode.NONE
    members = [
        context.entity(
            "DescribedGroupMember",
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata,
            member_assignment=member.assignment,
        )
        for member in group.members
    ]
    return context.entity(
        "DescribedGroup",
        error_code=error_code,
        error_message=message,
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_name,
        members=members,
        authorized_operations=ALL_OPERATIONS if wants_operations and not error_code else NOT_ASKED,
    )
