"""SnapshotHeaderRecord; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class SnapshotHeaderRecord:
    """Versions 0."""

    version: Final[int]
    last_contained_log_timestamp: Final[int]
