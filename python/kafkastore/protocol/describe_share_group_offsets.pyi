"""Messages of describe_share_group_offsets; made by `make schema`."""

from typing import Final, final

@final
class DescribeShareGroupOffsetsRequest:
    """Versions 0-1."""

    groups: Final[tuple[DescribeShareGroupOffsetsRequestGroup, ...]]

@final
class DescribeShareGroupOffsetsRequestGroup:
    """Of DescribeShareGroupOffsetsRequest."""

    group_id: Final[str]
    topics: Final[tuple[DescribeShareGroupOffsetsRequestTopic, ...] | None]

@final
class DescribeShareGroupOffsetsRequestTopic:
    """Of DescribeShareGroupOffsetsRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class DescribeShareGroupOffsetsResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    groups: Final[tuple[DescribeShareGroupOffsetsResponseGroup, ...]]

@final
class DescribeShareGroupOffsetsResponseGroup:
    """Of DescribeShareGroupOffsetsResponse."""

    group_id: Final[str]
    topics: Final[tuple[DescribeShareGroupOffsetsResponseTopic, ...]]
    error_code: Final[int]
    error_message: Final[str | None]

@final
class DescribeShareGroupOffsetsResponseTopic:
    """Of DescribeShareGroupOffsetsResponse."""

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[DescribeShareGroupOffsetsResponsePartition, ...]]

@final
class DescribeShareGroupOffsetsResponsePartition:
    """Of DescribeShareGroupOffsetsResponse.

    Not in every version: lag 1.
    """

    partition_index: Final[int]
    start_offset: Final[int]
    leader_epoch: Final[int]
    lag: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
