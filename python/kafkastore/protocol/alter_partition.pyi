"""Messages of alter_partition; made by `make schema`."""

from typing import Final, final

@final
class AlterPartitionRequest:
    """Versions 0-3."""

    broker_id: Final[int]
    broker_epoch: Final[int]
    topics: Final[tuple[AlterPartitionRequestTopicData, ...]]

@final
class AlterPartitionRequestTopicData:
    """Of AlterPartitionRequest.

    Not in every version: topic_name 0-1, topic_id 2+.
    """

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[AlterPartitionRequestPartitionData, ...]]

@final
class AlterPartitionRequestPartitionData:
    """Of AlterPartitionRequest.

    Not in every version: new_isr 0-2, new_isr_with_epochs 3, leader_recovery_state 1+.
    """

    partition_index: Final[int]
    leader_epoch: Final[int]
    new_isr: Final[tuple[int, ...]]
    new_isr_with_epochs: Final[tuple[BrokerState, ...]]
    leader_recovery_state: Final[int]
    partition_epoch: Final[int]

@final
class BrokerState:
    """Of AlterPartitionRequest.

    Not in every version: broker_id 3, broker_epoch 3.
    """

    broker_id: Final[int]
    broker_epoch: Final[int]

@final
class AlterPartitionResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    topics: Final[tuple[AlterPartitionResponseTopicData, ...]]

@final
class AlterPartitionResponseTopicData:
    """Of AlterPartitionResponse.

    Not in every version: topic_name 0-1, topic_id 2+.
    """

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partitions: Final[tuple[AlterPartitionResponsePartitionData, ...]]

@final
class AlterPartitionResponsePartitionData:
    """Of AlterPartitionResponse.

    Not in every version: leader_recovery_state 1+.
    """

    partition_index: Final[int]
    error_code: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]
    isr: Final[tuple[int, ...]]
    leader_recovery_state: Final[int]
    partition_epoch: Final[int]
