"""Messages of legacy_offset_commit; made by `make schema`."""

from typing import Final, final

@final
class LegacyOffsetCommitKey:
    """Versions 0."""

    group: Final[str]
    topic: Final[str]
    partition: Final[int]

@final
class LegacyOffsetCommitValue:
    """Versions 0."""

    offset: Final[int]
    metadata: Final[str]
    commit_timestamp: Final[int]
