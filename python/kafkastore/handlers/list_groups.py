"""ListGroups: the groups of this broker, by state (version 4 on) and type (version 5 on).

A client that may not describe the cluster gets the groups that it may describe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DESCRIBE, GROUP
from kafkastore.requests.authorization import EVERYTHING, allowed, allows_cluster

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.list_groups import ListGroupsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListGroupsRequest) -> Unwritten:
    error_code, groups = await context.broker.group_coordinator.list_groups(request.states_filter, request.types_filter)
    sees_all = allows_cluster(context, DESCRIBE, is_logged=False)
    rows: list[bytes] = []
    async for run in context.turn().runs(groups):
        names = [group.group_id for group in run]
        seen = EVERYTHING if sees_all else allowed(context, DESCRIBE, GROUP, names, is_logged=False)
        rows += [
            context.row(
                "ListedGroup",
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in run
            if group.group_id in seen
        ]
    return context.answer(error_code=error_code, groups=rows)
