"""Messages of read_share_group_state_summary; made by `make schema`."""

from typing import Final, final

@final
class ReadShareGroupStateSummaryRequest:
    """Versions 0-1."""

    group_id: Final[str]
    topics: Final[tuple[ReadStateSummaryData, ...]]

@final
class ReadStateSummaryData:
    """Of ReadShareGroupStateSummaryRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of ReadShareGroupStateSummaryRequest."""

    partition: Final[int]
    leader_epoch: Final[int]

@final
class ReadShareGroupStateSummaryResponse:
    """Versions 0-1."""

    results: Final[tuple[ReadStateSummaryResult, ...]]

@final
class ReadStateSummaryResult:
    """Of ReadShareGroupStateSummaryResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of ReadShareGroupStateSummaryResponse.

    Not in every version: delivery_complete_count 1.
    """

    partition: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    state_epoch: Final[int]
    leader_epoch: Final[int]
    start_offset: Final[int]
    delivery_complete_count: Final[int]
