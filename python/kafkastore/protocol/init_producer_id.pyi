"""Messages of init_producer_id; made by `make schema`."""

from typing import Final, final

@final
class InitProducerIdRequest:
    """Versions 0-6.

    Not in every version: producer_id 3+, producer_epoch 3+, enable2_pc 6, keep_prepared_txn 6.
    """

    transactional_id: Final[str | None]
    transaction_timeout_ms: Final[int]
    producer_id: Final[int]
    producer_epoch: Final[int]
    enable2_pc: Final[bool]
    keep_prepared_txn: Final[bool]

@final
class InitProducerIdResponse:
    """Versions 0-6.

    Not in every version: ongoing_txn_producer_id 6, ongoing_txn_producer_epoch 6.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    producer_id: Final[int]
    producer_epoch: Final[int]
    ongoing_txn_producer_id: Final[int]
    ongoing_txn_producer_epoch: Final[int]
