"""InitProducerId (22), as far as it comes to the control plane: requests for which the data plane has no producer id,
and requests with an id or an epoch alone.

A request without a transactional id always gets a new id with epoch 0, whatever id and epoch it names, as in Kafka: the
broker does not record which producer has which id, so bumping a named epoch would let one producer fence another. A
request with a transactional id goes back to the data plane when a block of ids has been claimed: the transaction
coordinator there answers the request, and checks the rest of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError
from kafkastore.requests.context import SERVED_BY_DATA_PLANE

if TYPE_CHECKING:
    from kafkastore.protocol.init_producer_id import InitProducerIdRequest
    from kafkastore.requests.context import RequestContext

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


async def handle(context: RequestContext, request: InitProducerIdRequest) -> object:
    broker = context.broker
    try:
        _check(request)
        if request.transactional_id is not None:
            await broker.producer_ids.ensure()
            broker.engine.serve_here(context.request.token)
            return SERVED_BY_DATA_PLANE
        producer_id = await broker.producer_ids.next_id()
    except KafkastoreError as error:
        return context.answer(error_code=error.code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
    return context.answer(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _check(request: InitProducerIdRequest) -> None:
    """Raises InvalidRequestError for a request that names an id without an epoch, or an epoch without an id."""
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        raise InvalidRequestError
