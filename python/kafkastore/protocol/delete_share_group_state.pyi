"""Messages of delete_share_group_state; made by `make schema`."""

from typing import Final, final

@final
class DeleteShareGroupStateRequest:
    """Versions 0."""

    group_id: Final[str]
    topics: Final[tuple[DeleteStateData, ...]]

@final
class DeleteStateData:
    """Of DeleteShareGroupStateRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of DeleteShareGroupStateRequest."""

    partition: Final[int]

@final
class DeleteShareGroupStateResponse:
    """Versions 0."""

    results: Final[tuple[DeleteStateResult, ...]]

@final
class DeleteStateResult:
    """Of DeleteShareGroupStateResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of DeleteShareGroupStateResponse."""

    partition: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
