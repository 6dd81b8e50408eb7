"""Messages of describe_log_dirs; made by `make schema`."""

from typing import Final, final

@final
class DescribeLogDirsRequest:
    """Versions 0-5."""

    topics: Final[tuple[DescribableLogDirTopic, ...] | None]

@final
class DescribableLogDirTopic:
    """Of DescribeLogDirsRequest."""

    topic: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class DescribeLogDirsResponse:
    """Versions 0-5.

    Not in every version: error_code 3+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    results: Final[tuple[DescribeLogDirsResult, ...]]

@final
class DescribeLogDirsResult:
    """Of DescribeLogDirsResponse.

    Not in every version: total_bytes 4+, usable_bytes 4+, is_cordoned 5.
    """

    error_code: Final[int]
    log_dir: Final[str]
    topics: Final[tuple[DescribeLogDirsTopic, ...]]
    total_bytes: Final[int]
    usable_bytes: Final[int]
    is_cordoned: Final[bool]

@final
class DescribeLogDirsTopic:
    """Of DescribeLogDirsResponse."""

    name: Final[str]
    partitions: Final[tuple[DescribeLogDirsPartition, ...]]

@final
class DescribeLogDirsPartition:
    """Of DescribeLogDirsResponse."""

    partition_index: Final[int]
    partition_size: Final[int]
    offset_lag: Final[int]
    is_future_key: Final[bool]
