"""Messages of fetch_snapshot; made by `make schema`."""

from typing import Final, final

@final
class FetchSnapshotRequest:
    """Versions 0-1."""

    cluster_id: Final[str | None]
    replica_id: Final[int]
    max_bytes: Final[int]
    topics: Final[tuple[FetchSnapshotRequestTopicSnapshot, ...]]

@final
class FetchSnapshotRequestTopicSnapshot:
    """Of FetchSnapshotRequest."""

    name: Final[str]
    partitions: Final[tuple[FetchSnapshotRequestPartitionSnapshot, ...]]

@final
class FetchSnapshotRequestPartitionSnapshot:
    """Of FetchSnapshotRequest.

    Not in every version: replica_directory_id 1.
    """

    partition: Final[int]
    current_leader_epoch: Final[int]
    snapshot_id: Final[FetchSnapshotRequestSnapshotId]
    position: Final[int]
    replica_directory_id: Final[bytes | None]

@final
class FetchSnapshotRequestSnapshotId:
    """Of FetchSnapshotRequest."""

    end_offset: Final[int]
    epoch: Final[int]

@final
class FetchSnapshotResponse:
    """Versions 0-1.

    Not in every version: node_endpoints 1.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    topics: Final[tuple[FetchSnapshotResponseTopicSnapshot, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class FetchSnapshotResponseTopicSnapshot:
    """Of FetchSnapshotResponse."""

    name: Final[str]
    partitions: Final[tuple[FetchSnapshotResponsePartitionSnapshot, ...]]

@final
class FetchSnapshotResponsePartitionSnapshot:
    """Of FetchSnapshotResponse."""

    index: Final[int]
    error_code: Final[int]
    snapshot_id: Final[FetchSnapshotResponseSnapshotId]
    current_leader: Final[LeaderIdAndEpoch]
    size: Final[int]
    position: Final[int]
    unaligned_records: Final[bytes | None]

@final
class FetchSnapshotResponseSnapshotId:
    """Of FetchSnapshotResponse."""

    end_offset: Final[int]
    epoch: Final[int]

@final
class LeaderIdAndEpoch:
    """Of FetchSnapshotResponse."""

    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class NodeEndpoint:
    """Of FetchSnapshotResponse.

    Not in every version: node_id 1, host 1, port 1.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
