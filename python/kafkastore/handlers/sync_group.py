"""SyncGroup: the leader's assignment in, each member's part out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.sync import SyncRequest
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    version = context.api_version
    protocol_type = request.protocol_type if version >= 5 else None
    protocol_name = request.protocol_name if version >= 5 else None
    if version >= 5 and (protocol_type is None or protocol_name is None):
        return context.answer(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, assignment=b"")
    waiting = context.broker.group_coordinator.sync_group(
        SyncRequest(
            request.group_id,
            request.member_id,
            request.group_instance_id if version >= 3 else None,
            request.generation_id,
            protocol_type,
            protocol_name,
            tuple((assignment.member_id, assignment.assignment) for assignment in request.assignments),
        )
    )
    del request
    context.let_go()  # the leader's assignment is the group's to count; nobody keeps another
    result = await waiting
    return context.answer(**result._asdict())
