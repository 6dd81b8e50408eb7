"""DeleteGroups: deletes empty groups, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DELETE, GROUP
from kafkastore.errors import ErrorCode
from kafkastore.requests.authorization import allowed

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.delete_groups import DeleteGroupsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> Unwritten:
    may_delete = allowed(context, DELETE, GROUP, request.groups_names)
    names = [name for name in request.groups_names if name in may_delete]
    results = dict.fromkeys(
        (name for name in request.groups_names if name not in may_delete), ErrorCode.GROUP_AUTHORIZATION_FAILED
    )
    results |= await context.broker.group_coordinator.delete_groups(names)
    rows = [
        context.row("DeletableGroupResult", group_id=group_id, error_code=error_code)
        async for group_id, error_code in context.turn().each(results.items())
    ]
    return context.answer(results=rows)
