"""EndTxnMarker; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class EndTxnMarker:
    """Versions 0."""

    coordinator_epoch: Final[int]
