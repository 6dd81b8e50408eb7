"""ControlledShutdown (7): a broker that is about to stop asks the controller to lead its partitions elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore.server.context import RequestContext


async def handle(context: RequestContext, request: Any) -> Any:
    remaining = await context.broker.controller.controlled_shutdown(request.broker_id, request.broker_epoch)
    return context.answer(
        error_code=0,
        remaining_partitions=[
            context.row("RemainingPartition", topic_name=topic, partition_index=number) for topic, number in remaining
        ],
    )
