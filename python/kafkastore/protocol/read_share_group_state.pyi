"""Messages of read_share_group_state; made by `make schema`."""

from typing import Final, final

@final
class ReadShareGroupStateRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[ReadStateData, ...]]

@final
class ReadStateData:
    """Of ReadShareGroupStateRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of ReadShareGroupStateRequest."""

    partition: Final[int]
    leader_epoch: Final[int]

@final
class ReadShareGroupStateResponse:
    """Versions 0."""

    results: Final[tuple[ReadStateResult, ...]]

@final
class ReadStateResult:
    """Of ReadShareGroupStateResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of ReadShareGroupStateResponse."""

    partition: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    state_epoch: Final[int]
    start_offset: Final[int]
    state_batches: Final[tuple[StateBatch, ...]]

@final
class StateBatch:
    """Of ReadShareGroupStateResponse."""

    first_offset: Final[int]
    last_offset: Final[int]
    delivery_state: Final[int]
    delivery_count: Final[int]
