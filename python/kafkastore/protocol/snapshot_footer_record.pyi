"""SnapshotFooterRecord; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class SnapshotFooterRecord:
    """Versions 0."""

    version: Final[int]
