"""DescribeGroups. Before version 6 a group that does not exist is answered as Dead, without an error.

The coordinator describes each group in one step of the loop; writing the rows gives way to other work and does not use
the coordinator. A group that is named again is described again, within bounds (``repeats``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import DESCRIBE, GROUP
from kafkastore.coordinator.group.classic.listing import DescribedGroup
from kafkastore.errors import ErrorCode, InvalidRequestError
from kafkastore.handlers.repeats import Repeats
from kafkastore.requests.authorization import allowed, operations

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.describe_groups import DescribeGroupsRequest
    from kafkastore.purgatory.turns import Turn
    from kafkastore.requests.context import RequestContext

NOT_ASKED: Final = -(1 << 31)


async def handle(context: RequestContext, request: DescribeGroupsRequest) -> Unwritten:
    wants_operations = request.include_authorized_operations
    describe = context.broker.group_coordinator.describe_group
    may_describe = allowed(context, DESCRIBE, GROUP, request.groups)
    turn = context.turn()
    repeats = Repeats()
    groups: list[bytes] = []
    async for group_id in turn.each(request.groups):
        try:
            repeats.check(group_id)
            if group_id in may_describe:
                described = describe(group_id)
            else:
                described = DescribedGroup(ErrorCode.GROUP_AUTHORIZATION_FAILED, group_id)
        except InvalidRequestError as error:
            described = DescribedGroup(error.code, group_id)
        groups.append(await _row(context, described, wants_operations, turn))
        repeats.note(group_id, len(groups[-1]))
    return context.answer(groups=groups)


async def _row(context: RequestContext, group: DescribedGroup, wants_operations: bool, turn: Turn) -> bytes:
    error_code, message = group.error_code, None
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        if context.api_version >= 6:
            message = f"Group {group.group_id} not found."
        else:
            error_code = ErrorCode.NONE
    members = [
        context.row(
            "DescribedGroupMember",
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            member_metadata=member.metadata,
            member_assignment=member.assignment,
        )
        async for member in turn.each(group.members)
    ]
    return context.row(
        "DescribedGroup",
        error_code=error_code,
        error_message=message,
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_name,
        members=members,
        authorized_operations=operations(context, GROUP, group.group_id)
        if wants_operations and not error_code
        else NOT_ASKED,
    )
