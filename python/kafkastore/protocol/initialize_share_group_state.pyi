"""Messages of initialize_share_group_state; made by `make schema`."""

from typing import Final, final

@final
class InitializeShareGroupStateRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[InitializeStateData, ...]]

@final
class InitializeStateData:
    """Of InitializeShareGroupStateRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of InitializeShareGroupStateRequest."""

    partition: Final[int]
    state_epoch: Final[int]
    start_offset: Final[int]

@final
class InitializeShareGroupStateResponse:
    """Versions 0."""

    results: Final[tuple[InitializeStateResult, ...]]

@final
class InitializeStateResult:
    """Of InitializeShareGroupStateResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of InitializeShareGroupStateResponse."""

    partition: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
