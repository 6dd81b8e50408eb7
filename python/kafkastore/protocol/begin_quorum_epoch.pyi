"""Messages of begin_quorum_epoch; made by `make schema`."""

from typing import Final, final

@final
class BeginQuorumEpochRequest:
    """Versions 0-1.

    Not in every version: voter_id 1, leader_endpoints 1.
    """

    cluster_id: Final[str | None]
    voter_id: Final[int]
    topics: Final[tuple[BeginQuorumEpochRequestTopicData, ...]]
    leader_endpoints: Final[tuple[LeaderEndpoint, ...]]

@final
class BeginQuorumEpochRequestTopicData:
    """Of BeginQuorumEpochRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[BeginQuorumEpochRequestPartitionData, ...]]

@final
class BeginQuorumEpochRequestPartitionData:
    """Of BeginQuorumEpochRequest.

    Not in every version: voter_directory_id 1.
    """

    partition_index: Final[int]
    voter_directory_id: Final[bytes | None]
    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class LeaderEndpoint:
    """Of BeginQuorumEpochRequest.

    Not in every version: name 1, host 1, port 1.
    """

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class BeginQuorumEpochResponse:
    """Versions 0-1.

    Not in every version: node_endpoints 1.
    """

    error_code: Final[int]
    topics: Final[tuple[BeginQuorumEpochResponseTopicData, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class BeginQuorumEpochResponseTopicData:
    """Of BeginQuorumEpochResponse."""

    topic_name: Final[str]
    partitions: Final[tuple[BeginQuorumEpochResponsePartitionData, ...]]

@final
class BeginQuorumEpochResponsePartitionData:
    """Of BeginQuorumEpochResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class NodeEndpoint:
    """Of BeginQuorumEpochResponse.

    Not in every version: node_id 1, host 1, port 1.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
