"""ListOffsetsRequest and ListOffsetsResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ListOffsetsRequest:
    """Versions 0-11.

    Not in every version: isolation_level 2+, timeout_ms 10+.
    """

    replica_id: Final[int]
    isolation_level: Final[int]
    topics: Final[tuple[ListOffsetsTopic, ...]]
    timeout_ms: Final[int]

@final
class ListOffsetsTopic:
    """Of ListOffsetsRequest."""

    name: Final[str]
    partitions: Final[tuple[ListOffsetsPartition, ...]]

@final
class ListOffsetsPartition:
    """Of ListOffsetsRequest.

    Not in every version: current_leader_epoch 4+, max_num_offsets 0.
    """

    partition_index: Final[int]
    current_leader_epoch: Final[int]
    timestamp: Final[int]
    max_num_offsets: Final[int]

@final
class ListOffsetsResponse:
    """Versions 0-11.

    Not in every version: throttle_time_ms 2+.
    """

    throttle_time_ms: Final[int]
    topics: Final[tuple[ListOffsetsTopicResponse, ...]]

@final
class ListOffsetsTopicResponse:
    """Of ListOffsetsResponse."""

    name: Final[str]
    partitions: Final[tuple[ListOffsetsPartitionResponse, ...]]

@final
class ListOffsetsPartitionResponse:
    """Of ListOffsetsResponse.

    Not in every version: old_style_offsets 0, timestamp 1+, offset 1+, leader_epoch 4+.
    """

    partition_index: Final[int]
    error_code: Final[int]
    old_style_offsets: Final[tuple[int, ...]]
    timestamp: Final[int]
    offset: Final[int]
    leader_epoch: Final[int]
