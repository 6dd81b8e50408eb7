"""Messages of offset_commit; made by `make schema`."""

from typing import Final, final

@final
class OffsetCommitRequest:
    """Versions 0-10.

    Not in every version: generation_id_or_member_epoch 1+, member_id 1+, group_instance_id 7+, retention_time_ms 2-4.
    """

    group_id: Final[str]
    generation_id_or_member_epoch: Final[int]
    member_id: Final[str]
    group_instance_id: Final[str | None]
    retention_time_ms: Final[int]
    topics: Final[tuple[OffsetCommitRequestTopic, ...]]

@final
class OffsetCommitRequestTopic:
    """Of OffsetCommitRequest.

    Not in every version: name 0-9, topic_id 10.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[OffsetCommitRequestPartition, ...]]

@final
class OffsetCommitRequestPartition:
    """Of OffsetCommitRequest.

    Not in every version: committed_leader_epoch 6+, commit_timestamp 1.
    """

    partition_index: Final[int]
    committed_offset: Final[int]
    committed_leader_epoch: Final[int]
    commit_timestamp: Final[int]
    committed_metadata: Final[str | None]

@final
class OffsetCommitResponse:
    """Versions 0-10.

    Not in every version: throttle_time_ms 3+.
    """

    throttle_time_ms: Final[int]
    topics: Final[tuple[OffsetCommitResponseTopic, ...]]

@final
class OffsetCommitResponseTopic:
    """Of OffsetCommitResponse.

    Not in every version: name 0-9, topic_id 10.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[OffsetCommitResponsePartition, ...]]

@final
class OffsetCommitResponsePartition:
    """Of OffsetCommitResponse."""

    partition_index: Final[int]
    error_code: Final[int]

@final
class OffsetCommitKey:
    """Versions 0."""

    group: Final[str]
    topic: Final[str]
    partition: Final[int]

@final
class OffsetCommitValue:
    """Versions 0-4.

    Not in every version: leader_epoch 3+, expire_timestamp 1, topic_id 4.
    """

    offset: Final[int]
    leader_epoch: Final[int]
    metadata: Final[str]
    commit_timestamp: Final[int]
    expire_timestamp: Final[int]
    topic_id: Final[bytes | None]
