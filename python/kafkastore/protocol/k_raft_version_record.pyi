"""KRaftVersionRecord; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class KRaftVersionRecord:
    """Versions 0."""

    version: Final[int]
    k_raft_version: Final[int]
