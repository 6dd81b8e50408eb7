"""Messages of end_quorum_epoch; made by `make schema`."""

from typing import Final, final

@final
class EndQuorumEpochRequest:
    """Versions 0-1.

    Not in every version: leader_endpoints 1.
    """

    cluster_id: Final[str | None]
    topics: Final[tuple[EndQuorumEpochRequestTopicData, ...]]
    leader_endpoints: Final[tuple[LeaderEndpoint, ...]]

@final
class EndQuorumEpochRequestTopicData:
    """Of EndQuorumEpochRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[EndQuorumEpochRequestPartitionData, ...]]

@final
class EndQuorumEpochRequestPartitionData:
    """Of EndQuorumEpochRequest.

    Not in every version: preferred_successors 0, preferred_candidates 1.
    """

    partition_index: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]
    preferred_successors: Final[tuple[int, ...]]
    preferred_candidates: Final[tuple[ReplicaInfo, ...]]

@final
class ReplicaInfo:
    """Of EndQuorumEpochRequest.

    Not in every version: candidate_id 1, candidate_directory_id 1.
    """

    candidate_id: Final[int]
    candidate_directory_id: Final[bytes | None]

@final
class LeaderEndpoint:
    """Of EndQuorumEpochRequest.

    Not in every version: name 1, host 1, port 1.
    """

    name: Final[str]
    host: Final[str]
    port: Final[int]

@final
class EndQuorumEpochResponse:
    """Versions 0-1.

    Not in every version: node_endpoints 1.
    """

    error_code: Final[int]
    topics: Final[tuple[EndQuorumEpochResponseTopicData, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class EndQuorumEpochResponseTopicData:
    """Of EndQuorumEpochResponse."""

    topic_name: Final[str]
    partitions: Final[tuple[EndQuorumEpochResponsePartitionData, ...]]

@final
class EndQuorumEpochResponsePartitionData:
    """Of EndQuorumEpochResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]

@final
class NodeEndpoint:
    """Of EndQuorumEpochResponse.

    Not in every version: node_id 1, host 1, port 1.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
