"""ListTransactions (66): the transactional ids that this broker coordinates, by state, producer id, duration (version 1
on) and pattern (version 2 on); those that the client may describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.acl_words import DESCRIBE, TRANSACTIONAL_ID
from kafkastore.coordinator.transaction.listing import TransactionFilters
from kafkastore.requests.authorization import allowed

if TYPE_CHECKING:
    from kafkastore._core import Unwritten
    from kafkastore.protocol.list_transactions import ListTransactionsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListTransactionsRequest) -> Unwritten:
    filters = TransactionFilters(
        states=request.state_filters,
        producer_ids=request.producer_id_filters,
        min_duration_ms=request.duration_filter,
        pattern=request.transactional_id_pattern,
    )
    found = await context.broker.transaction_coordinator.list_transactions(filters)
    rows: list[bytes] = []
    async for run in context.turn().runs(found.transactions):
        names = [transaction.transactional_id for transaction in run]
        seen = allowed(context, DESCRIBE, TRANSACTIONAL_ID, names, is_logged=False)
        rows += [
            context.row(
                "TransactionState",
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state,
            )
            for transaction in run
            if transaction.transactional_id in seen
        ]
    return context.answer(
        error_code=found.error_code, unknown_state_filters=found.unknown_states, transaction_states=rows
    )
