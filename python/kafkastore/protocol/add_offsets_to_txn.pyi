"""Messages of add_offsets_to_txn; made by `make schema`."""

from typing import Final, final

@final
class AddOffsetsToTxnRequest:
    """Versions 0-4."""

    transactional_id: Final[str]
    producer_id: Final[int]
    producer_epoch: Final[int]
    group_id: Final[str]

@final
class AddOffsetsToTxnResponse:
    """Versions 0-4."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
