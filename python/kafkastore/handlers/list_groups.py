"""ListGroups: the groups of this broker, by state (version 4 on) and type (version 5 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.interbroker.request_types.since import since

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.list_groups import ListGroupsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListGroupsRequest) -> Unwritten:
    error_code, groups = await context.broker.group_coordinator.list_groups(
        request.states_filter if since(request, 4) else (), request.types_filter if since(request, 5) else ()
    )
    rows: list[bytes] = []
    async for run in context.turn().runs(groups):
        rows += [
            context.row(
                "ListedGroup",
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in run
        ]
    return context.answer(error_code=error_code, groups=rows)
