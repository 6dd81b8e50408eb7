"""FetchRequest and FetchResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class FetchRequest:
    """Versions 0-18.

    Not in every version: cluster_id 12+, replica_id 0-14, replica_state 15+, max_bytes 3+, isolation_level 4+,
    session_id 7+, session_epoch 7+, forgotten_topics_data 7+, rack_id 11+.
    """

    cluster_id: Final[str | None]
    replica_id: Final[int]
    replica_state: Final[ReplicaState]
    max_wait_ms: Final[int]
    min_bytes: Final[int]
    max_bytes: Final[int]
    isolation_level: Final[int]
    session_id: Final[int]
    session_epoch: Final[int]
    topics: Final[tuple[FetchTopic, ...]]
    forgotten_topics_data: Final[tuple[ForgottenTopic, ...]]
    rack_id: Final[str]

@final
class ReplicaState:
    """Of FetchRequest.

    Not in every version: replica_id 15+, replica_epoch 15+.
    """

    replica_id: Final[int]
    replica_epoch: Final[int]

@final
class FetchTopic:
    """Of FetchRequest.

    Not in every version: topic 0-12, topic_id 13+.
    """

    topic: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[FetchPartition, ...]]

@final
class FetchPartition:
    """Of FetchRequest.

    Not in every version: current_leader_epoch 9+, last_fetched_epoch 12+, log_start_offset 5+,
    replica_directory_id 17+, high_watermark 18.
    """

    partition: Final[int]
    current_leader_epoch: Final[int]
    fetch_offset: Final[int]
    last_fetched_epoch: Final[int]
    log_start_offset: Final[int]
    partition_max_bytes: Final[int]
    replica_directory_id: Final[bytes | None]
    high_watermark: Final[int]

@final
class ForgottenTopic:
    """Of FetchRequest.

    Not in every version: topic 7-12, topic_id 13+, partitions 7+.
    """

    topic: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]

@final
class FetchResponse:
    """Versions 0-18.

    Not in every version: throttle_time_ms 1+, error_code 7+, session_id 7+, node_endpoints 16+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    session_id: Final[int]
    responses: Final[tuple[FetchableTopicResponse, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class FetchableTopicResponse:
    """Of FetchResponse.

    Not in every version: topic 0-12, topic_id 13+.
    """

    topic: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[PartitionData, ...]]

@final
class PartitionData:
    """Of FetchResponse.

    Not in every version: last_stable_offset 4+, log_start_offset 5+, diverging_epoch 12+, current_leader 12+,
    snapshot_id 12+, aborted_transactions 4+, preferred_read_replica 11+.
    """

    partition_index: Final[int]
    error_code: Final[int]
    high_watermark: Final[int]
    last_stable_offset: Final[int]
    log_start_offset: Final[int]
    diverging_epoch: Final[EpochEndOffset]
    current_leader: Final[LeaderIdAndEpoch]
    snapshot_id: Final[SnapshotId]
    aborted_transactions: Final[tuple[AbortedTransaction, ...] | None]
    preferred_read_replica: Final[int]
    records: Final[bytes | None]

@final
class EpochEndOffset:
    """Of FetchResponse.

    Not in every version: epoch 12+, end_offset 12+.
    """

    epoch: Final[int]
    end_offset: Final[int]

@final
class LeaderIdAndEpoch:
    """Of FetchResponse.

    Not in every version: leader_id 12+, leader_epoch 12+.
    """

    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class SnapshotId:
    """Of FetchResponse."""

    end_offset: Final[int]
    epoch: Final[int]

@final
class AbortedTransaction:
    """Of FetchResponse.

    Not in every version: producer_id 4+, first_offset 4+.
    """

    producer_id: Final[int]
    first_offset: Final[int]

@final
class NodeEndpoint:
    """Of FetchResponse.

    Not in every version: node_id 16+, host 16+, port 16+, rack 16+.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]
