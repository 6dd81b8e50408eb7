"""JoinGroup: translates the protocol's request to the coordinator's, and the result back. The leader's answer has a
row for every member; the rows are made while the answer is written, of a result that does not change any more."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkastore._core import LazyRows
from kafkastore.acl_words import READ
from kafkastore.coordinator.group.classic.join import JoinRequest
from kafkastore.requests.authorization import require_group
from kafkastore.requests.context import DeferredAnswer

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.coordinator.group.classic.member import JoinResult
    from kafkastore.protocol.join_group import JoinGroupRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: JoinGroupRequest) -> DeferredAnswer[JoinResult]:
    require_group(context, READ, request.group_id)
    version = context.api_version
    session_timeout_ms = request.session_timeout_ms
    later = DeferredAnswer(partial(_answer, context))
    context.broker.group_coordinator.join_group(
        JoinRequest(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            context.request.client_id or "",
            context.request.client_host,
            request.protocol_type,
            tuple((protocol.name, protocol.metadata) for protocol in request.protocols),
            session_timeout_ms,
            request.rebalance_timeout_ms if version >= 1 else session_timeout_ms,
            requires_known_member_id=version >= 4,
            supports_skipping_assignment=version >= 9,
            reason=request.reason,
        ),
        later.put,
    )
    context.let_go()  # the group counts the memory of a member's metadata
    return later


def _answer(context: RequestContext, result: JoinResult) -> Unwritten:
    version = context.api_version
    # before version 7 a protocol name cannot be null
    protocol_name = (result.protocol_name or None) if version >= 7 else (result.protocol_name or "")
    return context.answer(
        error_code=result.error_code,
        generation_id=result.generation_id,
        protocol_type=result.protocol_type,
        protocol_name=protocol_name,
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=LazyRows(
            result.members,
            lambda member: context.row(
                "JoinGroupResponseMember",
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata,
            ),
        ),
    )
