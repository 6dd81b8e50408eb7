"""Messages of share_acknowledge; made by `make schema`."""

from typing import Final, final

@final
class ShareAcknowledgeRequest:
    """Versions 1-2.

    Not in every version: is_renew_ack 2.
    """

    group_id: Final[str | None]
    member_id: Final[str | None]
    share_session_epoch: Final[int]
    is_renew_ack: Final[bool]
    topics: Final[tuple[AcknowledgeTopic, ...]]

@final
class AcknowledgeTopic:
    """Of ShareAcknowledgeRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[AcknowledgePartition, ...]]

@final
class AcknowledgePartition:
    """Of ShareAcknowledgeRequest."""

    partition_index: Final[int]
    acknowledgement_batches: Final[tuple[AcknowledgementBatch, ...]]

@final
class AcknowledgementBatch:
    """Of ShareAcknowledgeRequest."""

    first_offset: Final[int]
    last_offset: Final[int]
    acknowledge_types: Final[tuple[int, ...]]

@final
class ShareAcknowledgeResponse:
    """Versions 1-2.

    Not in every version: acquisition_lock_timeout_ms 2.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    acquisition_lock_timeout_ms: Final[int]
    responses: Final[tuple[ShareAcknowledgeTopicResponse, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class ShareAcknowledgeTopicResponse:
    """Of ShareAcknowledgeResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of ShareAcknowledgeResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    current_leader: Final[LeaderIdAndEpoch]

@final
class LeaderIdAndEpoch:
    """Of ShareAcknowledgeResponse."""

    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class NodeEndpoint:
    """Of ShareAcknowledgeResponse."""

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]
