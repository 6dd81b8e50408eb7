"""Messages of offset_delete; made by `make schema`."""

from typing import Final, final

@final
class OffsetDeleteRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[OffsetDeleteRequestTopic, ...]]

@final
class OffsetDeleteRequestTopic:
    """Of OffsetDeleteRequest."""

    name: Final[str]
    partitions: Final[tuple[OffsetDeleteRequestPartition, ...]]

@final
class OffsetDeleteRequestPartition:
    """Of OffsetDeleteRequest."""

    partition_index: Final[int]

@final
class OffsetDeleteResponse:
    """Versions 0."""

    error_code: Final[int]
    throttle_time_ms: Final[int]
    topics: Final[tuple[OffsetDeleteResponseTopic, ...]]

@final
class OffsetDeleteResponseTopic:
    """Of OffsetDeleteResponse."""

    name: Final[str]
    partitions: Final[tuple[OffsetDeleteResponsePartition, ...]]

@final
class OffsetDeleteResponsePartition:
    """Of OffsetDeleteResponse."""

    partition_index: Final[int]
    error_code: Final[int]
