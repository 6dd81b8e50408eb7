"""Messages of write_share_group_state; made by `make schema`."""

from typing import Final, final

@final
class WriteShareGroupStateRequest:
    """Versions 0-1."""

    group_id: Final[str]
    topics: Final[tuple[WriteStateData, ...]]

@final
class WriteStateData:
    """Of WriteShareGroupStateRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of WriteShareGroupStateRequest.

    Not in every version: delivery_complete_count 1.
    """

    partition: Final[int]
    state_epoch: Final[int]
    leader_epoch: Final[int]
    start_offset: Final[int]
    delivery_complete_count: Final[int]
    state_batches: Final[tuple[StateBatch, ...]]

@final
class StateBatch:
    """Of WriteShareGroupStateRequest."""

    first_offset: Final[int]
    last_offset: Final[int]
    delivery_state: Final[int]
    delivery_count: Final[int]

@final
class WriteShareGroupStateResponse:
    """Versions 0-1."""

    results: Final[tuple[WriteStateResult, ...]]

@final
class WriteStateResult:
    """Of WriteShareGroupStateResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of WriteShareGroupStateResponse."""

    partition: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
