"""AddOffsetsToTxn (25), as far as it comes to the control plane: there is no ``__consumer_offsets`` yet. It is created,
and the request goes back to the data plane: a transaction may name a group before any client asks for its coordinator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode
from kafkastore.handlers.coordinators_topic import coordinators_topic
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.requests.context import SERVED_BY_DATA_PLANE

if TYPE_CHECKING:
    from kafkastore.protocol.add_offsets_to_txn import AddOffsetsToTxnRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: AddOffsetsToTxnRequest) -> object:
    del request  # the data plane has checked it
    if await coordinators_topic(context, OFFSETS_TOPIC) is None:
        return context.answer(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    context.broker.engine.serve_here(context.request.token)
    return SERVED_BY_DATA_PLANE
