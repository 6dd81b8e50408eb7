"""ListTransactions (66): the transactional ids that this broker coordinates, by state, producer id, duration (version 1
on) and pattern (version 2 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.coordinator.transaction.listing import ANY_DURATION, TransactionFilters
from kafkastore.interbroker.request_types.since import since

if TYPE_CHECKING:
    from kafkastore.interbroker.encoding import Unwritten
    from kafkastore.interbroker.request_types.list_transactions import ListTransactionsRequest
    from kafkastore.requests.context import RequestContext


async def handle(context: RequestContext, request: ListTransactionsRequest) -> Unwritten:
    filters = TransactionFilters(
        states=request.state_filters,
        producer_ids=request.producer_id_filters,
        min_duration_ms=request.duration_filter if since(request, 1) else ANY_DURATION,
        pattern=request.transactional_id_pattern if since(request, 2) else None,
    )
    found = await context.broker.transaction_coordinator.list_transactions(filters)
    rows: list[bytes] = []
    async for run in context.turn().runs(found.transactions):
        rows += [
            context.row(
                "TransactionState",
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state,
            )
            for transaction in run
        ]
    return context.answer(
        error_code=found.error_code, unknown_state_filters=found.unknown_states, transaction_states=rows
    )
