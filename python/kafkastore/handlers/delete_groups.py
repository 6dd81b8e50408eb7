"""DeleteGroups: empty groups, with their offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    results = await context.broker.group_coordinator.delete_groups(request.groups_names)
    rows = [
        context.row("DeletableGroupResult", group_id=group_id, error_code=error_code)
        async for group_id, error_code in context.turn().each(results.items())
    ]
    return context.answer(results=rows)
