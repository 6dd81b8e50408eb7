"""DeleteGroups: deletes empty groups, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.delete_groups import DeleteGroupsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: DeleteGroupsRequest) -> Unwritten:
    results = await context.broker.group_coordinator.delete_groups(request.groups_names)
    rows = [
        context.row("DeletableGroupResult", group_id=group_id, error_code=error_code)
        async for group_id, error_code in context.turn().each(results.items())
    ]
    return context.answer(results=rows)
