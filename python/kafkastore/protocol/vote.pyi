"""VoteRequest and VoteResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class VoteRequest:
    """Versions 0-2.

    Not in every version: voter_id 1+.
    """

    cluster_id: Final[str | None]
    voter_id: Final[int]
    topics: Final[tuple[VoteRequestTopicData, ...]]

@final
class VoteRequestTopicData:
    """Of VoteRequest."""

    topic_name: Final[str]
    partitions: Final[tuple[VoteRequestPartitionData, ...]]

@final
class VoteRequestPartitionData:
    """Of VoteRequest.

    Not in every version: replica_directory_id 1+, voter_directory_id 1+, pre_vote 2.
    """

    partition_index: Final[int]
    replica_epoch: Final[int]
    replica_id: Final[int]
    replica_directory_id: Final[bytes | None]
    voter_directory_id: Final[bytes | None]
    last_offset_epoch: Final[int]
    last_offset: Final[int]
    pre_vote: Final[bool]

@final
class VoteResponse:
    """Versions 0-2.

    Not in every version: node_endpoints 1+.
    """

    error_code: Final[int]
    topics: Final[tuple[VoteResponseTopicData, ...]]
    node_endpoints: Final[tuple[NodeEndpoint, ...]]

@final
class VoteResponseTopicData:
    """Of VoteResponse."""

    topic_name: Final[str]
    partitions: Final[tuple[VoteResponsePartitionData, ...]]

@final
class VoteResponsePartitionData:
    """Of VoteResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]
    vote_granted: Final[bool]

@final
class NodeEndpoint:
    """Of VoteResponse.

    Not in every version: node_id 1+, host 1+, port 1+.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
