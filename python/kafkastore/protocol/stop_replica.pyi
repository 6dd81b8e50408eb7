"""StopReplicaRequest and StopReplicaResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class StopReplicaRequest:
    """Versions 0-4.

    Not in every version: is_k_raft_controller 4, broker_epoch 1+, delete_partitions 0-2, ungrouped_partitions 0,
    topics 1-2, topic_states 3+, number 4.
    """

    controller_id: Final[int]
    is_k_raft_controller: Final[bool]
    controller_epoch: Final[int]
    broker_epoch: Final[int]
    delete_partitions: Final[bool]
    ungrouped_partitions: Final[tuple[StopReplicaPartitionV0, ...]]
    topics: Final[tuple[StopReplicaTopicV1, ...]]
    topic_states: Final[tuple[StopReplicaTopicState, ...]]
    number: Final[int]

@final
class StopReplicaPartitionV0:
    """Of StopReplicaRequest.

    Not in every version: topic_name 0, partition_index 0.
    """

    topic_name: Final[str]
    partition_index: Final[int]

@final
class StopReplicaTopicV1:
    """Of StopReplicaRequest.

    Not in every version: name 1-2, partition_indexes 1-2.
    """

    name: Final[str]
    partition_indexes: Final[tuple[int, ...]]

@final
class StopReplicaTopicState:
    """Of StopReplicaRequest.

    Not in every version: topic_name 3+, partition_states 3+.
    """

    topic_name: Final[str]
    partition_states: Final[tuple[StopReplicaPartitionState, ...]]

@final
class StopReplicaPartitionState:
    """Of StopReplicaRequest.

    Not in every version: partition_index 3+, leader_epoch 3+, delete_partition 3+.
    """

    partition_index: Final[int]
    leader_epoch: Final[int]
    delete_partition: Final[bool]

@final
class StopReplicaResponse:
    """Versions 0-4."""

    error_code: Final[int]
    partition_errors: Final[tuple[StopReplicaPartitionError, ...]]

@final
class StopReplicaPartitionError:
    """Of StopReplicaResponse."""

    topic_name: Final[str]
    partition_index: Final[int]
    error_code: Final[int]
