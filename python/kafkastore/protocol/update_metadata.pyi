"""Messages of update_metadata; made by `make schema`."""

from typing import Final, final

@final
class UpdateMetadataRequest:
    """Versions 0-8.

    Not in every version: is_k_raft_controller 8, type 8, broker_epoch 5+, ungrouped_partition_states 0-4,
    topic_states 5+, number 8.
    """

    controller_id: Final[int]
    is_k_raft_controller: Final[bool]
    type: Final[int]
    controller_epoch: Final[int]
    broker_epoch: Final[int]
    ungrouped_partition_states: Final[tuple[UpdateMetadataPartitionState, ...]]
    topic_states: Final[tuple[UpdateMetadataTopicState, ...]]
    live_brokers: Final[tuple[UpdateMetadataBroker, ...]]
    number: Final[int]

@final
class UpdateMetadataTopicState:
    """Of UpdateMetadataRequest.

    Not in every version: topic_name 5+, topic_id 7+, partition_states 5+.
    """

    topic_name: Final[str]
    topic_id: Final[bytes | None]
    partition_states: Final[tuple[UpdateMetadataPartitionState, ...]]

@final
class UpdateMetadataBroker:
    """Of UpdateMetadataRequest.

    Not in every version: v0_host 0, v0_port 0, endpoints 1+, rack 2+.
    """

    id: Final[int]
    v0_host: Final[str]
    v0_port: Final[int]
    endpoints: Final[tuple[UpdateMetadataEndpoint, ...]]
    rack: Final[str | None]

@final
class UpdateMetadataEndpoint:
    """Of UpdateMetadataRequest.

    Not in every version: port 1+, host 1+, listener 3+, security_protocol 1+.
    """

    port: Final[int]
    host: Final[str]
    listener: Final[str]
    security_protocol: Final[int]

@final
class UpdateMetadataPartitionState:
    """Of UpdateMetadataRequest.

    Not in every version: topic_name 0-4, offline_replicas 4+.
    """

    topic_name: Final[str]
    partition_index: Final[int]
    controller_epoch: Final[int]
    leader: Final[int]
    leader_epoch: Final[int]
    isr: Final[tuple[int, ...]]
    zk_version: Final[int]
    replicas: Final[tuple[int, ...]]
    offline_replicas: Final[tuple[int, ...]]

@final
class UpdateMetadataResponse:
    """Versions 0-8."""

    error_code: Final[int]
