"""Messages of delete_records; made by `make schema`."""

from typing import Final, final

@final
class DeleteRecordsRequest:
    """Versions 0-2."""

    topics: Final[tuple[DeleteRecordsTopic, ...]]
    timeout_ms: Final[int]

@final
class DeleteRecordsTopic:
    """Of DeleteRecordsRequest."""

    name: Final[str]
    partitions: Final[tuple[DeleteRecordsPartition, ...]]

@final
class DeleteRecordsPartition:
    """Of DeleteRecordsRequest."""

    partition_index: Final[int]
    offset: Final[int]

@final
class DeleteRecordsResponse:
    """Versions 0-2."""

    throttle_time_ms: Final[int]
    topics: Final[tuple[DeleteRecordsTopicResult, ...]]

@final
class DeleteRecordsTopicResult:
    """Of DeleteRecordsResponse."""

    name: Final[str]
    partitions: Final[tuple[DeleteRecordsPartitionResult, ...]]

@final
class DeleteRecordsPartitionResult:
    """Of DeleteRecordsResponse."""

    partition_index: Final[int]
    low_watermark: Final[int]
    error_code: Final[int]
