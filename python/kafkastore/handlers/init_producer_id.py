"""InitProducerId (22): a producer id and epoch for an idempotent producer.

Translates between the wire and ``coordinator/producer_ids.py``, which allocates the ids. A request without a
transactional id always gets a new id with epoch 0, whatever id and epoch it names, as in Kafka: the broker does not
record which producer has which id, so bumping a named epoch would let one producer fence another. Cases of a
transactional id, in Kafka's order: (A) empty: INVALID_REQUEST; (B) a time-out out of range:
INVALID_TRANSACTION_TIMEOUT; (C) else refused, since this version has no transaction coordinator (``no_transactions``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ErrorCode, InvalidRequestError, InvalidTransactionTimeoutError, KafkastoreError
from kafkastore.handlers.no_transactions import refused
from kafkastore.interbroker.request_types.since import since
from kafkastore.requests.context import milliseconds

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.init_producer_id import InitProducerIdRequest
    from kafkastore.requests.context import RequestContext

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1


async def handle(context: RequestContext, request: InitProducerIdRequest) -> Unwritten:
    try:
        _check(context, request)
        producer_id = await context.broker.producer_ids.next_id()
    except KafkastoreError as error:
        return context.answer(error_code=error.code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)
    return context.answer(error_code=ErrorCode.NONE, producer_id=producer_id, producer_epoch=0)


def _check(context: RequestContext, request: InitProducerIdRequest) -> None:
    """Raises KafkastoreError for every request that must not get an id."""
    has_id = since(request, 3) and request.producer_id != NO_PRODUCER_ID
    has_epoch = since(request, 3) and request.producer_epoch != NO_PRODUCER_EPOCH
    if has_id != has_epoch:
        raise InvalidRequestError
    if request.transactional_id is None:
        return
    if not request.transactional_id:
        raise InvalidRequestError  # A
    longest_ms = context.broker.config.get("transaction.max.timeout.ms")
    if not 0 < milliseconds(request.transaction_timeout) <= longest_ms:
        raise InvalidTransactionTimeoutError  # B
    raise refused(context, request.transactional_id)  # C
