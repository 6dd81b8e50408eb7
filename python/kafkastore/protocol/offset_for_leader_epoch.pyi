"""Messages of offset_for_leader_epoch; made by `make schema`."""

from typing import Final, final

@final
class OffsetForLeaderEpochRequest:
    """Versions 0-4.

    Not in every version: replica_id 3+.
    """

    replica_id: Final[int]
    topics: Final[tuple[OffsetForLeaderTopic, ...]]

@final
class OffsetForLeaderTopic:
    """Of OffsetForLeaderEpochRequest."""

    topic: Final[str]
    partitions: Final[tuple[OffsetForLeaderPartition, ...]]

@final
class OffsetForLeaderPartition:
    """Of OffsetForLeaderEpochRequest.

    Not in every version: current_leader_epoch 2+.
    """

    partition: Final[int]
    current_leader_epoch: Final[int]
    leader_epoch: Final[int]

@final
class OffsetForLeaderEpochResponse:
    """Versions 0-4.

    Not in every version: throttle_time_ms 2+.
    """

    throttle_time_ms: Final[int]
    topics: Final[tuple[OffsetForLeaderTopicResult, ...]]

@final
class OffsetForLeaderTopicResult:
    """Of OffsetForLeaderEpochResponse."""

    topic: Final[str]
    partitions: Final[tuple[EpochEndOffset, ...]]

@final
class EpochEndOffset:
    """Of OffsetForLeaderEpochResponse.

    Not in every version: leader_epoch 1+.
    """

    error_code: Final[int]
    partition: Final[int]
    leader_epoch: Final[int]
    end_offset: Final[int]
