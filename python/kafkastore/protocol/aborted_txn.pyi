"""AbortedTxn; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class AbortedTxn:
    """Versions 0."""

    producer_id: Final[int]
    first_offset: Final[int]
    last_offset: Final[int]
    last_stable_offset: Final[int]
