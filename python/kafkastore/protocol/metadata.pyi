"""MetadataRequest and MetadataResponse; made by `make schema` of `rust/protocol/messages`, see `__init__.py`."""

from typing import Final, final

@final
class MetadataRequest:
    """Versions 0-13.

    Not in every version: allow_auto_topic_creation 4+, include_cluster_authorized_operations 8-10,
    include_topic_authorized_operations 8+.
    """

    topics: Final[tuple[MetadataRequestTopic, ...] | None]
    allow_auto_topic_creation: Final[bool]
    include_cluster_authorized_operations: Final[bool]
    include_topic_authorized_operations: Final[bool]

@final
class MetadataRequestTopic:
    """Of MetadataRequest.

    Not in every version: topic_id 10+.
    """

    topic_id: Final[bytes | None]
    name: Final[str | None]

@final
class MetadataResponse:
    """Versions 0-13.

    Not in every version: throttle_time_ms 3+, cluster_id 2+, controller_id 1+, cluster_authorized_operations 8-10,
    error_code 13.
    """

    throttle_time_ms: Final[int]
    brokers: Final[tuple[MetadataResponseBroker, ...]]
    cluster_id: Final[str | None]
    controller_id: Final[int]
    topics: Final[tuple[MetadataResponseTopic, ...]]
    cluster_authorized_operations: Final[int]
    error_code: Final[int]

@final
class MetadataResponseBroker:
    """Of MetadataResponse.

    Not in every version: rack 1+.
    """

    node_id: Final[int]
    host: Final[str]
    port: Final[int]
    rack: Final[str | None]

@final
class MetadataResponseTopic:
    """Of MetadataResponse.

    Not in every version: topic_id 10+, is_internal 1+, topic_authorized_operations 8+.
    """

    error_code: Final[int]
    name: Final[str | None]
    topic_id: Final[bytes | None]
    is_internal: Final[bool]
    partitions: Final[tuple[MetadataResponsePartition, ...]]
    topic_authorized_operations: Final[int]

@final
class MetadataResponsePartition:
    """Of MetadataResponse.

    Not in every version: leader_epoch 7+, offline_replicas 5+.
    """

    error_code: Final[int]
    partition_index: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]
    replica_nodes: Final[tuple[int, ...]]
    isr_nodes: Final[tuple[int, ...]]
    offline_replicas: Final[tuple[int, ...]]
