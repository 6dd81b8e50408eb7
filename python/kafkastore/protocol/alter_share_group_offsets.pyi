"""Messages of alter_share_group_offsets; made by `make schema`."""

from typing import Final, final

@final
class AlterShareGroupOffsetsRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[AlterShareGroupOffsetsRequestTopic, ...]]

@final
class AlterShareGroupOffsetsRequestTopic:
    """Of AlterShareGroupOffsetsRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[AlterShareGroupOffsetsRequestPartition, ...]]

@final
class AlterShareGroupOffsetsRequestPartition:
    """Of AlterShareGroupOffsetsRequest."""

    partition_index: Final[int]
    start_offset: Final[int]

@final
class AlterShareGroupOffsetsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    responses: Final[tuple[AlterShareGroupOffsetsResponseTopic, ...]]

@final
class AlterShareGroupOffsetsResponseTopic:
    """Of AlterShareGroupOffsetsResponse."""

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[AlterShareGroupOffsetsResponsePartition, ...]]

@final
class AlterShareGroupOffsetsResponsePartition:
    """Of AlterShareGroupOffsetsResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
