"""Messages of describe_quorum; made by `make schema`."""

from typing import Final, final

@final
class DescribeQuorumRequest:
    """Versions 0-2."""

    topics: Final[tuple[DescribeQuorumRequestTopicData, ...]]

@final
class DescribeQuorumRequestTopicData:
    """Of DescribeQuorumRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[DescribeQuorumRequestPartitionData, ...]]

@final
class DescribeQuorumRequestPartitionData:
    """Of DescribeQuorumRequest."""

    partition_index: Final[int]

@final
class DescribeQuorumResponse:
    """Versions 0-2.

    Not in every version: error_message 2, nodes 2.
    """

    error_code: Final[int]
    error_message: Final[str | None]
    topics: Final[tuple[DescribeQuorumResponseTopicData, ...]]
    nodes: Final[tuple[Node, ...]]

@final
class DescribeQuorumResponseTopicData:
    """Of DescribeQuorumResponse."""

    topic_name: Final[str]
    partitions: Final[tuple[DescribeQuorumResponsePartitionData, ...]]

@final
class DescribeQuorumResponsePartitionData:
    """Of DescribeQuorumResponse.

    Not in every version: error_message 2.
    """

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    leader_id: Final[int]
    leader_epoch: Final[int]
    high_watermark: Final[int]
    current_voters: Final[tuple[ReplicaState, ...]]
    observers: Final[tuple[ReplicaState, ...]]

@final
class Node:
    """Of DescribeQuorumResponse.

    Not in every version: node_id 2, listeners 2.
    """

    node_id: Final[int]
    listeners: Final[tuple[Listener, ...]]

@final
class Listener:
    """Of DescribeQuorumResponse.

    Not in every version: name 2, host 2, port 2.
    """

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class ReplicaState:
    """Of DescribeQuorumResponse.

    Not in every version: replica_directory_id 2, last_fetch_timestamp 1+, last_caught_up_timestamp 1+.
    """

    replica_id: Final[int]
    replica_directory_id: Final[bytes | None]
    log_end_offset: Final[int]
    last_fetch_timestamp: Final[int]
    last_caught_up_timestamp: Final[int]
