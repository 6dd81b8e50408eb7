"""ControlRecordTypeSchema; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ControlRecordTypeSchema:
    """Versions 0."""

    type: Final[int]
