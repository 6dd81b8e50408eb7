"""Messages of streams_group_heartbeat; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupHeartbeatRequest:
    """Versions 0-1."""

    group_id: Final[str]
    member_id: Final[str]
    member_epoch: Final[int]
    endpoint_information_epoch: Final[int]
    instance_id: Final[str | None]
    rack_id: Final[str | None]
    rebalance_timeout_ms: Final[int]
    topology: Final[Topology | None]
    active_tasks: Final[tuple[StreamsGroupHeartbeatRequestTaskIds, ...] | None]
    standby_tasks: Final[tuple[StreamsGroupHeartbeatRequestTaskIds, ...] | None]
    warmup_tasks: Final[tuple[StreamsGroupHeartbeatRequestTaskIds, ...] | None]
    process_id: Final[str | None]
    user_endpoint: Final[StreamsGroupHeartbeatRequestEndpoint | None]
    client_tags: Final[tuple[KeyValue, ...] | None]
    task_offsets: Final[tuple[TaskOffset, ...] | None]
    task_end_offsets: Final[tuple[TaskOffset, ...] | None]
    shutdown_application: Final[bool]

@final
class Topology:
    """Of StreamsGroupHeartbeatRequest."""

    epoch: Final[int]
    subtopologies: Final[tuple[Subtopology, ...]]

@final
class Subtopology:
    """Of StreamsGroupHeartbeatRequest."""

    subtopology_id: Final[str]
    source_topics: Final[tuple[str, ...]]
    source_topic_regex: Final[tuple[str, ...]]
    state_changelog_topics: Final[tuple[TopicInfo, ...]]
    repartition_sink_topics: Final[tuple[str, ...]]
    repartition_source_topics: Final[tuple[TopicInfo, ...]]
    copartition_groups: Final[tuple[CopartitionGroup, ...]]

@final
class CopartitionGroup:
    """Of StreamsGroupHeartbeatRequest."""

    source_topics: Final[tuple[int, ...]]
    source_topic_regex: Final[tuple[int, ...]]
    repartition_source_topics: Final[tuple[int, ...]]

@final
class KeyValue:
    """Of StreamsGroupHeartbeatRequest."""

    key: Final[str]
    value: Final[str]

@final
class TopicInfo:
    """Of StreamsGroupHeartbeatRequest."""

    name: Final[str]
    partitions: Final[int]
    replication_factor: Final[int]
    topic_configs: Final[tuple[KeyValue, ...]]

@final
class StreamsGroupHeartbeatRequestEndpoint:
    """Of StreamsGroupHeartbeatRequest."""

    host: Final[str]
    port: Final[int]

@final
class TaskOffset:
    """Of StreamsGroupHeartbeatRequest."""

    subtopology_id: Final[str]
    partition: Final[int]
    offset: Final[int]

@final
class StreamsGroupHeartbeatRequestTaskIds:
    """Of StreamsGroupHeartbeatRequest."""

    subtopology_id: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class StreamsGroupHeartbeatResponse:
    """Versions 0-1.

    Not in every version: acceptable_recovery_lag_legacy 0, acceptable_recovery_lag 1, topology_description_required 1.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    member_id: Final[str]
    member_epoch: Final[int]
    heartbeat_interval_ms: Final[int]
    acceptable_recovery_lag_legacy: Final[int]
    task_offset_interval_ms: Final[int]
    acceptable_recovery_lag: Final[int]
    status: Final[tuple[Status, ...] | None]
    active_tasks: Final[tuple[StreamsGroupHeartbeatResponseTaskIds, ...] | None]
    standby_tasks: Final[tuple[StreamsGroupHeartbeatResponseTaskIds, ...] | None]
    warmup_tasks: Final[tuple[StreamsGroupHeartbeatResponseTaskIds, ...] | None]
    topology_description_required: Final[bool]
    endpoint_information_epoch: Final[int]
    partitions_by_user_endpoint: Final[tuple[EndpointToPartitions, ...] | None]

@final
class EndpointToPartitions:
    """Of StreamsGroupHeartbeatResponse."""

    user_endpoint: Final[StreamsGroupHeartbeatResponseEndpoint]
    active_partitions: Final[tuple[TopicPartition, ...]]
    standby_partitions: Final[tuple[TopicPartition, ...]]

@final
class Status:
    """Of StreamsGroupHeartbeatResponse."""

    status_code: Final[int]
    status_detail: Final[str]

@final
class TopicPartition:
    """Of StreamsGroupHeartbeatResponse."""

    topic: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class StreamsGroupHeartbeatResponseTaskIds:
    """Of StreamsGroupHeartbeatResponse."""

    subtopology_id: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class StreamsGroupHeartbeatResponseEndpoint:
    """Of StreamsGroupHeartbeatResponse."""

    host: Final[str]
    port: Final[int]
