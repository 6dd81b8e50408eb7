"""EndTxnRequest and EndTxnResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class EndTxnRequest:
    """Versions 0-5."""

    transactional_id: Final[str]
    producer_id: Final[int]
    producer_epoch: Final[int]
    committed: Final[bool]

@final
class EndTxnResponse:
    """Versions 0-5.

    Not in every version: producer_id 5, producer_epoch 5.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    producer_id: Final[int]
    producer_epoch: Final[int]
