"""SyncGroup: takes the assignment that the group's leader sends, answers each member with its part."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore.acl_words import READ
from kafkastore.coordinator.group.classic.sync import SyncRequest
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import require_group
from kafkastore.requests.context import DeferredAnswer

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.coordinator.group.classic.member import SyncResult
    from kafkastore.protocol.sync_group import SyncGroupRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: SyncGroupRequest) -> DeferredAnswer[SyncResult] | Unwritten:
    require_group(context, READ, request.group_id)
    protocol_type = request.protocol_type
    protocol_name = request.protocol_name
    if context.api_version >= 5 and (protocol_type is None or protocol_name is None):
        return context.answer(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL, assignment=b"")
    later = DeferredAnswer(partial(_answer, context))
    context.broker.group_coordinator.sync_group(
        SyncRequest(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            protocol_type,
            protocol_name,
            tuple((assignment.member_id, assignment.assignment) for assignment in request.assignments),
        ),
        later.put,
    )
    context.let_go()  # the group counts the leader's assignment; an assignment of another member is not kept
    return later


def _answer(context: RequestContext, result: SyncResult) -> Unwritten:
    return context.answer(
        error_code=result.error_code,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name,
        assignment=result.assignment,
    )
