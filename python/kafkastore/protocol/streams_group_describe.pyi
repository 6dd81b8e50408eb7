"""Messages of streams_group_describe; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupDescribeRequest:
    """Versions 0-1.

    Not in every version: include_topology_description 1.
    """

    group_ids: Final[tuple[str, ...]]
    include_authorized_operations: Final[bool]
    include_topology_description: Final[bool]

@final
class StreamsGroupDescribeResponse:
    """Versions 0-1."""

    throttle_time_ms: Final[int]
    groups: Final[tuple[DescribedGroup, ...]]

@final
class DescribedGroup:
    """Of StreamsGroupDescribeResponse.

    Not in every version: topology_description 1, topology_description_status 1, assignor_name 1.
    """

    error_code: Final[int]
    error_message: Final[str | None]
    group_id: Final[str]
    group_state: Final[str]
    group_epoch: Final[int]
    assignment_epoch: Final[int]
    topology: Final[Topology | None]
    members: Final[tuple[Member, ...]]
    authorized_operations: Final[int]
    topology_description: Final[TopologyDescription | None]
    topology_description_status: Final[int]
    assignor_name: Final[str | None]

@final
class Topology:
    """Of StreamsGroupDescribeResponse."""

    epoch: Final[int]
    subtopologies: Final[tuple[Subtopology, ...] | None]

@final
class Subtopology:
    """Of StreamsGroupDescribeResponse."""

    subtopology_id: Final[str]
    source_topics: Final[tuple[str, ...]]
    repartition_sink_topics: Final[tuple[str, ...]]
    state_changelog_topics: Final[tuple[TopicInfo, ...]]
    repartition_source_topics: Final[tuple[TopicInfo, ...]]

@final
class Member:
    """Of StreamsGroupDescribeResponse."""

    member_id: Final[str]
    member_epoch: Final[int]
    instance_id: Final[str | None]
    rack_id: Final[str | None]
    client_id: Final[str]
    client_host: Final[str]
    topology_epoch: Final[int]
    process_id: Final[str]
    user_endpoint: Final[Endpoint | None]
    client_tags: Final[tuple[KeyValue, ...]]
    task_offsets: Final[tuple[TaskOffset, ...]]
    task_end_offsets: Final[tuple[TaskOffset, ...]]
    assignment: Final[Assignment]
    target_assignment: Final[Assignment]
    is_classic: Final[bool]

@final
class Endpoint:
    """Of StreamsGroupDescribeResponse."""

    host: Final[str]
    port: Final[int]

@final
class TaskOffset:
    """Of StreamsGroupDescribeResponse."""

    subtopology_id: Final[str]
    partition: Final[int]
    offset: Final[int]

@final
class Assignment:
    """Of StreamsGroupDescribeResponse."""

    active_tasks: Final[tuple[TaskIds, ...]]
    standby_tasks: Final[tuple[TaskIds, ...]]
    warmup_tasks: Final[tuple[TaskIds, ...]]

@final
class TaskIds:
    """Of StreamsGroupDescribeResponse."""

    subtopology_id: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class KeyValue:
    """Of StreamsGroupDescribeResponse."""

    key: Final[str]
    value: Final[str]

@final
class TopicInfo:
    """Of StreamsGroupDescribeResponse."""

    name: Final[str]
    partitions: Final[int]
    replication_factor: Final[int]
    topic_configs: Final[tuple[KeyValue, ...]]

@final
class TopologyDescription:
    """Of StreamsGroupDescribeResponse.

    Not in every version: subtopologies 1, global_stores 1.
    """

    subtopologies: Final[tuple[TopologyDescriptionSubtopology, ...]]
    global_stores: Final[tuple[TopologyDescriptionGlobalStore, ...]]

@final
class TopologyDescriptionSubtopology:
    """Of StreamsGroupDescribeResponse.

    Not in every version: subtopology_id 1, nodes 1.
    """

    subtopology_id: Final[str]
    nodes: Final[tuple[TopologyDescriptionNode, ...]]

@final
class TopologyDescriptionNode:
    """Of StreamsGroupDescribeResponse.

    Not in every version: name 1, node_type 1, source_topics 1, sink_topic 1, stores 1, successors 1.
    """

    name: Final[str]
    node_type: Final[int]
    source_topics: Final[tuple[str, ...]]
    sink_topic: Final[str | None]
    stores: Final[tuple[str, ...]]
    successors: Final[tuple[str, ...]]

@final
class TopologyDescriptionGlobalStore:
    """Of StreamsGroupDescribeResponse.

    Not in every version: source 1, processor 1.
    """

    source: Final[TopologyDescriptionNode]
    processor: Final[TopologyDescriptionNode]
