"""AlterPartition (56): a leader asks the controller for other in-sync sets (KIP-497, KIP-903)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    return await context.broker.controller.alter_partition(request)
