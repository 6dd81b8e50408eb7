"""ControlledShutdown (7): a broker that is about to stop asks the controller to move its leaderships to other
brokers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.controlled_shutdown import ControlledShutdownRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ControlledShutdownRequest) -> Unwritten:
    remaining = await context.broker.controller.controlled_shutdown(request.broker_id, request.broker_epoch)
    return context.answer(
        error_code=0,
        remaining_partitions=[
            context.row("RemainingPartition", topic_name=topic, partition_index=number) for topic, number in remaining
        ],
    )
