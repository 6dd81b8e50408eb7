"""AlterPartition (56): a leader asks the controller to change the in-sync sets of its partitions (KIP-497, KIP-903)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.alter_partition import AlterPartitionRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AlterPartitionRequest) -> Unwritten:
    fields = await context.broker.controller.alter_partition(request)
    return context.answer(error_code=fields["error_code"], topics=fields["topics"])
