"""LeaveGroup: one member before version 3, a list of members since (KIP-345).

A long list is served in parts, as several requests one after the other would be: each part sees the group as it is at
that time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import READ
from kafkastore.coordinator.group.classic.membership import MAX_LEAVING, LeavingMember
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_group

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.leave_group import LeaveGroupRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: LeaveGroupRequest) -> Unwritten:
    require_group(context, READ, request.group_id)
    coordinator = context.broker.group_coordinator
    if context.api_version < 3:
        result = coordinator.leave_group(request.group_id, [LeavingMember(request.member_id)])
        return context.answer(error_code=result.error_code or result.member_errors[0])
    turn = context.turn()
    rows: list[bytes] = []
    error_code: int = ErrorCode.NONE
    for first in range(0, max(len(request.members), 1), MAX_LEAVING):
        requested = request.members[first : first + MAX_LEAVING]
        members = [LeavingMember(member.member_id, member.group_instance_id, member.reason) for member in requested]
        result = coordinator.leave_group(request.group_id, members)
        if result.error_code:
            error_code, rows = result.error_code, []
            break
        async for member, member_error in turn.each(zip(members, result.member_errors, strict=True)):
            rows.append(
                context.row(
                    "MemberResponse",
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    error_code=member_error,
                )
            )
    return context.answer(error_code=error_code, members=rows)
