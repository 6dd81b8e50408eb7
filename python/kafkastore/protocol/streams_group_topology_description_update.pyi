"""Messages of streams_group_topology_description_update; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupTopologyDescriptionUpdateRequest:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]
    topology_epoch: Final[int]
    topology_description: Final[TopologyDescription]

@final
class TopologyDescription:
    """Of StreamsGroupTopologyDescriptionUpdateRequest."""

    subtopologies: Final[tuple[TopologyDescriptionSubtopology, ...]]
    global_stores: Final[tuple[TopologyDescriptionGlobalStore, ...]]

@final
class TopologyDescriptionSubtopology:
    """Of StreamsGroupTopologyDescriptionUpdateRequest."""

    subtopology_id: Final[str]
    nodes: Final[tuple[TopologyDescriptionNode, ...]]

@final
class TopologyDescriptionNode:
    """Of StreamsGroupTopologyDescriptionUpdateRequest."""

    name: Final[str]
    node_type: Final[int]
    source_topics: Final[tuple[str, ...]]
    sink_topic: Final[str | None]
    stores: Final[tuple[str, ...]]
    successors: Final[tuple[str, ...]]

@final
class TopologyDescriptionGlobalStore:
    """Of StreamsGroupTopologyDescriptionUpdateRequest."""

    source: Final[TopologyDescriptionNode]
    processor: Final[TopologyDescriptionNode]

@final
class StreamsGroupTopologyDescriptionUpdateResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
