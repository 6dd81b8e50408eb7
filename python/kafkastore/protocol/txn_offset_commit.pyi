"""Messages of txn_offset_commit; made by `make schema`."""

from typing import Final, final

@final
class TxnOffsetCommitRequest:
    """Versions 0-6.

    Not in every version: generation_id_or_member_epoch 3+, member_id 3+, group_instance_id 3+.
    """

    transactional_id: Final[str]
    group_id: Final[str]
    producer_id: Final[int]
    producer_epoch: Final[int]
    generation_id_or_member_epoch: Final[int]
    member_id: Final[str]
    group_instance_id: Final[str | None]
    topics: Final[tuple[TxnOffsetCommitRequestTopic, ...]]

@final
class TxnOffsetCommitRequestTopic:
    """Of TxnOffsetCommitRequest.

    Not in every version: name 0-5, topic_id 6.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[TxnOffsetCommitRequestPartition, ...]]

@final
class TxnOffsetCommitRequestPartition:
    """Of TxnOffsetCommitRequest.

    Not in every version: committed_leader_epoch 2+.
    """

    partition_index: Final[int]
    committed_offset: Final[int]
    committed_leader_epoch: Final[int]
    committed_metadata: Final[str | None]

@final
class TxnOffsetCommitResponse:
    """Versions 0-6."""

    throttle_time_ms: Final[int]
    topics: Final[tuple[TxnOffsetCommitResponseTopic, ...]]

@final
class TxnOffsetCommitResponseTopic:
    """Of TxnOffsetCommitResponse.

    Not in every version: name 0-5, topic_id 6.
    """

    name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[TxnOffsetCommitResponsePartition, ...]]

@final
class TxnOffsetCommitResponsePartition:
    """Of TxnOffsetCommitResponse."""

    partition_index: Final[int]
    error_code: Final[int]
