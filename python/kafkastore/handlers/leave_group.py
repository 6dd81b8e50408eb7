"""LeaveGroup: one member before version 3, a list of them since (KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.membership import LeavingMember
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    coordinator = context.broker.group_coordinator
    if context.api_version < 3:
        result = coordinator.leave_group(request.group_id, [LeavingMember(request.member_id)])
        return context.response(error_code=result.error_code or result.member_errors[0])
    members = [
        LeavingMember(member.member_id, member.group_instance_id, getattr(member, "reason", None))
        for member in request.members
    ]
    result = coordinator.leave_group(request.group_id, members)
    rows = [
        context.entity(
            "MemberResponse",
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            error_code=error_code,
        )
        for member, error_code in zip(members, result.member_errors, strict=False)  # none with a group's error
    ]
    return context.response(error_code=result.error_code or ErrorCode.NONE, members=rows)
