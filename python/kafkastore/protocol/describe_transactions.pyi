"""Messages of describe_transactions; made by `make schema`."""

from typing import Final, final

@final
class DescribeTransactionsRequest:
    """Versions 0."""

    transactional_ids: Final[tuple[str, ...]]

@final
class DescribeTransactionsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    transaction_states: Final[tuple[TransactionState, ...]]

@final
class TransactionState:
    """Of DescribeTransactionsResponse."""

    error_code: Final[int]
    transactional_id: Final[str]
    transaction_state: Final[str]
    transaction_timeout_ms: Final[int]
    transaction_start_time_ms: Final[int]
    producer_id: Final[int]
    producer_epoch: Final[int]
    topics: Final[tuple[TopicData, ...]]

@final
class TopicData:
    """Of DescribeTransactionsResponse."""

    topic: Final[str]
    partitions: Final[tuple[int, ...]]
