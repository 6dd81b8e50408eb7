"""TransactionLogKey and TransactionLogValue; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class TransactionLogKey:
    """Versions 0."""

    transactional_id: Final[str]

@final
class TransactionLogValue:
    """Versions 0-1.

    Not in every version: previous_producer_id 1, next_producer_id 1, next_producer_epoch 1,
    client_transaction_version 1.
    """

    producer_id: Final[int]
    previous_producer_id: Final[int]
    next_producer_id: Final[int]
    producer_epoch: Final[int]
    next_producer_epoch: Final[int]
    transaction_timeout_ms: Final[int]
    transaction_status: Final[int]
    transaction_partitions: Final[tuple[PartitionsSchema, ...] | None]
    transaction_last_update_timestamp_ms: Final[int]
    transaction_start_timestamp_ms: Final[int]
    client_transaction_version: Final[int]

@final
class PartitionsSchema:
    """Of TransactionLogValue."""

    topic: Final[str]
    partition_ids: Final[tuple[int, ...]]
