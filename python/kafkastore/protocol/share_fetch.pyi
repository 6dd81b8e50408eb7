"""ShareFetchRequest and ShareFetchResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class ShareFetchRequest:
    """Versions 1-2.

    Not in every version: share_acquire_mode 2, is_renew_ack 2.
    """

    group_id: Final[str | None]
    member_id: Final[str | None]
    share_session_epoch: Final[int]
    max_wait_ms: Final[int]
    min_bytes: Final[int]
    max_bytes: Final[int]
    max_records: Final[int]
    batch_size: Final[int]
    share_acquire_mode: Final[int]
    is_renew_ack: Final[bool]
    topics: Final[tuple[FetchTopic, ...]]
    forgotten_topics_data: Final[tuple[ForgottenTopic, ...]]

@final
class FetchTopic:
    """Of ShareFetchRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[FetchPartition, ...]]

@final
class FetchPartition:
    """Of ShareFetchRequest.

    Not in every version: partition_max_bytes 0.
    """

    partition_index: Final[int]
    partition_max_bytes: Final[int]
    acknowledgement_batches: Final[tuple[AcknowledgementBatch, ...]]

@final
class AcknowledgementBatch:
    """Of ShareFetchRequest."""

    first_offset: Final[int]
    last_offset: Final[int]
    acknowledge_types: Final[tuple[int, ...]]

@final
class ForgottenTopic:
    """Of ShareFetchRequest."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]

@final
class ShareFetchResponse:
    """Versions 1-2."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    acquisition_lock_timeout_ms: Final[int]
    responses: Final[tuple[ShareFetchableTopicResponse, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class ShareFetchableTopicResponse:
    """Of ShareFetchResponse."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of ShareFetchResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    acknowledge_error_code: Final[int]
    acknowledge_error_message: Final[str | None]
    current_leader: Final[LeaderIdAndEpoch]
    records: Final[bytes | None]
    acquired_records: Final[tuple[AcquiredRecords, ...]]

@final
class LeaderIdAndEpoch:
    """Of ShareFetchResponse."""

    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class AcquiredRecords:
    """Of ShareFetchResponse."""

    first_offset: Final[int]
    last_offset: Final[int]
    delivery_count: Final[int]

@final
class NodeEndpoint:
    """Of ShareFetchResponse."""

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]
