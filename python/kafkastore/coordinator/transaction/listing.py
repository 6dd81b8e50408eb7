"""What ListTransactions and DescribeTransactions (KIP-664) say about the transactional ids of this broker.

Place: the transaction coordinator asks here when it serves requests; the data plane knows the transactional ids.
Listing runs in steps, one for each partition. Never: changes a transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode, InvalidRequestError, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore._core import ListedTransaction, TransactionDescription, Transactions
    from kafkastore.coordinator.runtime.steps import Steps

STATES: Final = frozenset(
    [
        "CompleteAbort",
        "CompleteCommit",
        "Dead",
        "Empty",
        "Ongoing",
        "PrepareAbort",
        "PrepareCommit",
        "PrepareEpochFence",
    ]
)
"""Kafka's names of the states of a transactional id. No id that is Dead is ever listed."""

ANY_DURATION: Final = -1


class TransactionFilters(NamedTuple):
    """What a listed transactional id has to fulfil."""

    states: Sequence[str] = ()
    """The id is in one of these states; without any, in any state."""

    producer_ids: Sequence[int] = ()
    """The id has one of these producer ids; without any, any producer id."""

    min_duration_ms: int = ANY_DURATION
    """The id's transaction began more than this time ago; negative: at any time."""

    pattern: str | None = None
    """The whole id matches this regular expression; None or empty: any id does (KIP-1152)."""


class ListedTransactions(NamedTuple):
    """The answer of ListTransactions."""

    error_code: int
    unknown_states: Sequence[str] = ()
    """The states of the filters that Kafka has not."""

    transactions: Sequence[ListedTransaction] = ()


def list_transactions(
    transactions: Transactions, partitions: Sequence[int], filters: TransactionFilters, now_ms: int
) -> Steps[ListedTransactions]:
    """Lists the transactional ids of ``partitions`` that are active. A pattern that is not a regular expression is
    answered with INVALID_REGULAR_EXPRESSION, also when there is no partition to list."""
    requested = list(dict.fromkeys(filters.states))
    states = [state for state in requested if state in STATES]
    unknown = [state for state in requested if state not in STATES]
    producer_ids, pattern = list(filters.producer_ids), filters.pattern or None
    found: list[ListedTransaction] = []
    for partition in partitions or (0,):  # without a partition the call checks the pattern, and lists nothing
        yield None
        try:
            rows = transactions.list(partition, states, producer_ids, filters.min_duration_ms, pattern, now_ms)
        except EngineError as error:
            return ListedTransactions(error.code, unknown)
        if unknown and not states:  # no id is in an unknown state; the call has checked the pattern
            break
        found += rows
    return ListedTransactions(ErrorCode.NONE, unknown, found)


def describe_transaction(transactions: Transactions, transactional_id: str) -> TransactionDescription:
    """Raises KafkastoreError with the error code for the client."""
    if not transactional_id:
        raise InvalidRequestError
    try:
        return transactions.describe(transactional_id)
    except EngineError as error:
        raise KafkastoreError(str(error), error.code) from error
