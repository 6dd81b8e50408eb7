"""Messages of leader_and_isr; made by `make schema`."""

from typing import Final, final

@final
class LeaderAndIsrRequest:
    """Versions 0-7.

    Not in every version: is_k_raft_controller 7, broker_epoch 2+, type 5+, ungrouped_partition_states 0-1,
    topic_states 2+, number 7.
    """

    controller_id: Final[int]
    is_k_raft_controller: Final[bool]
    controller_epoch: Final[int]
    broker_epoch: Final[int]
    type: Final[int]
    ungrouped_partition_states: Final[tuple[LeaderAndIsrPartitionState, ...]]
    topic_states: Final[tuple[LeaderAndIsrTopicState, ...]]
    live_leaders: Final[tuple[LeaderAndIsrLiveLeader, ...]]
    number: Final[int]

@final
class LeaderAndIsrTopicState:
    """Of LeaderAndIsrRequest.

    Not in every version: topic_name 2+, topic_id 5+, partition_states 2+.
    """

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partition_states: Final[tuple[LeaderAndIsrPartitionState, ...]]

@final
class LeaderAndIsrLiveLeader:
    """Of LeaderAndIsrRequest."""

    broker_id: Final[int]
    host_name: Final[str]
    port: Final[int]

@final
class LeaderAndIsrPartitionState:
    """Of LeaderAndIsrRequest.

    Not in every version: topic_name 0-1, adding_replicas 3+, removing_replicas 3+, is_new 1+, leader_recovery_state 6+,
    elr 7.
    """

    topic_name: Final[str]
    partition_index: Final[int]
    controller_epoch: Final[int]
    leader: Final[int]
    leader_epoch: Final[int]
    isr: Final[tuple[int, ...]]
    partition_epoch: Final[int]
    replicas: Final[tuple[int, ...]]
    adding_replicas: Final[tuple[int, ...]]
    removing_replicas: Final[tuple[int, ...]]
    is_new: Final[bool]
    leader_recovery_state: Final[int]
    elr: Final[tuple[int, ...]]

@final
class LeaderAndIsrResponse:
    """Versions 0-7.

    Not in every version: partition_errors 0-4, topics 5+.
    """

    error_code: Final[int]
    partition_errors: Final[tuple[LeaderAndIsrPartitionError, ...]]
    topics: Final[tuple[LeaderAndIsrTopicError, ...]]

@final
class LeaderAndIsrTopicError:
    """Of LeaderAndIsrResponse.

    Not in every version: topic_id 5+, partition_errors 5+.
    """

    topic_id: Final[bytes | None]
    partition_errors: Final[tuple[LeaderAndIsrPartitionError, ...]]

@final
class LeaderAndIsrPartitionError:
    """Of LeaderAndIsrResponse.

    Not in every version: topic_name 0-4.
    """

    topic_name: Final[str]
    partition_index: Final[int]
    error_code: Final[int]
