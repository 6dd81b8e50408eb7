"""Messages of list_transactions; made by `make schema`."""

from typing import Final, final

@final
class ListTransactionsRequest:
    """Versions 0-2.

    Not in every version: duration_filter 1+, transactional_id_pattern 2.
    """

    state_filters: Final[tuple[str, ...]]
    producer_id_filters: Final[tuple[int, ...]]
    duration_filter: Final[int]
    transactional_id_pattern: Final[str | None]

@final
class ListTransactionsResponse:
    """Versions 0-2."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    unknown_state_filters: Final[tuple[str, ...]]
    transaction_states: Final[tuple[TransactionState, ...]]

@final
class TransactionState:
    """Of ListTransactionsResponse."""

    transactional_id: Final[str]
    producer_id: Final[int]
    transaction_state: Final[str]
