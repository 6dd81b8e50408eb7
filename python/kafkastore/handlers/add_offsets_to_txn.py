"""AddOffsetsToTxn (25), as far as it comes to the control plane: there is no ``__consumer_offsets`` yet. It is created,
and the request goes back to the data plane: a transaction may name a group before any client asks for its coordinator.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.internal_topics import OFFSETS_TOPIC
from kafkastore.requests.context import SERVED_BY_DATA_PLANE

if TYPE_CHECKING:
    from kafkastore.interbroker.request_types.add_offsets_to_txn import AddOffsetsToTxnRequest
    from kafkastore.requests.context import RequestContext

logger = logging.getLogger("kafkastore.handlers.add_offsets_to_txn")


async def handle(context: RequestContext, request: AddOffsetsToTxnRequest) -> object:
    del request  # the data plane has checked it
    broker = context.broker
    try:
        if broker.image.topic(OFFSETS_TOPIC) is None:
            await broker.topics.create_internal(OFFSETS_TOPIC)
    except KafkastoreError as error:
        logger.warning("Cannot create %s: %s", OFFSETS_TOPIC, error)
        return context.answer(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    broker.engine.serve_here(context.request.token)
    return SERVED_BY_DATA_PLANE
