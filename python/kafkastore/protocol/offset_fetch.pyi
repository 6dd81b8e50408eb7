"""OffsetFetchRequest and OffsetFetchResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class OffsetFetchRequest:
    """Versions 0-10.

    Not in every version: group_id 0-7, topics 0-7, groups 8+, require_stable 7+.
    """

    group_id: Final[str]
    topics: Final[tuple[OffsetFetchRequestTopic, ...] | None]
    groups: Final[tuple[OffsetFetchRequestGroup, ...]]
    require_stable: Final[bool]

@final
class OffsetFetchRequestTopic:
    """Of OffsetFetchRequest.

    Not in every version: name 0-7, partition_indexes 0-7.
    """

    name: Final[str]
    partition_indexes: Final[tuple[int, ...]]

@final
class OffsetFetchRequestGroup:
    """Of OffsetFetchRequest.

    Not in every version: group_id 8+, member_id 9+, member_epoch 9+, topics 8+.
    """

    group_id: Final[str]
    member_id: Final[str | None]
    member_epoch: Final[int]
    topics: Final[tuple[OffsetFetchRequestTopics, ...] | None]

@final
class OffsetFetchRequestTopics:
    """Of OffsetFetchRequest.

    Not in every version: name 8-9, topic_id 10, partition_indexes 8+.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partition_indexes: Final[tuple[int, ...]]

@final
class OffsetFetchResponse:
    """Versions 0-10.

    Not in every version: throttle_time_ms 3+, topics 0-7, error_code 2-7, groups 8+.
    """

    throttle_time_ms: Final[int]
    topics: Final[tuple[OffsetFetchResponseTopic, ...]]
    error_code: Final[int]
    groups: Final[tuple[OffsetFetchResponseGroup, ...]]

@final
class OffsetFetchResponseTopic:
    """Of OffsetFetchResponse.

    Not in every version: name 0-7, partitions 0-7.
    """

    name: Final[str]
    partitions: Final[tuple[OffsetFetchResponsePartition, ...]]

@final
class OffsetFetchResponsePartition:
    """Of OffsetFetchResponse.

    Not in every version: partition_index 0-7, committed_offset 0-7, committed_leader_epoch 5-7, metadata 0-7,
    error_code 0-7.
    """

    partition_index: Final[int]
    committed_offset: Final[int]
    committed_leader_epoch: Final[int]
    metadata: Final[str | None]
    error_code: Final[int]

@final
class OffsetFetchResponseGroup:
    """Of OffsetFetchResponse.

    Not in every version: group_id 8+, topics 8+, error_code 8+.
    """

    group_id: Final[str]
    topics: Final[tuple[OffsetFetchResponseTopics, ...]]
    error_code: Final[int]

@final
class OffsetFetchResponseTopics:
    """Of OffsetFetchResponse.

    Not in every version: name 8-9, topic_id 10, partitions 8+.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[OffsetFetchResponsePartitions, ...]]

@final
class OffsetFetchResponsePartitions:
    """Of OffsetFetchResponse.

    Not in every version: partition_index 8+, committed_offset 8+, committed_leader_epoch 8+, metadata 8+,
    error_code 8+.
    """

    partition_index: Final[int]
    committed_offset: Final[int]
    committed_leader_epoch: Final[int]
    metadata: Final[str | None]
    error_code: Final[int]
