"""Messages of streams_group_topology; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupTopologyKey:
    """Versions 0."""

    group_id: Final[str]

@final
class StreamsGroupTopologyValue:
    """Versions 0."""

    epoch: Final[int]
    subtopologies: Final[tuple[Subtopology, ...]]

@final
class Subtopology:
    """Of StreamsGroupTopologyValue."""

    subtopology_id: Final[str]
    source_topics: Final[tuple[str, ...]]
    source_topic_regex: Final[tuple[str, ...]]
    state_changelog_topics: Final[tuple[TopicInfo, ...]]
    repartition_sink_topics: Final[tuple[str, ...]]
    repartition_source_topics: Final[tuple[TopicInfo, ...]]
    copartition_groups: Final[tuple[CopartitionGroup, ...]]

@final
class CopartitionGroup:
    """Of StreamsGroupTopologyValue."""

    source_topics: Final[tuple[int, ...]]
    source_topic_regex: Final[tuple[int, ...]]
    repartition_source_topics: Final[tuple[int, ...]]

@final
class TopicConfig:
    """Of StreamsGroupTopologyValue."""

    key: Final[str]
    value: Final[str]

@final
class TopicInfo:
    """Of StreamsGroupTopologyValue."""

    name: Final[str]
    partitions: Final[int]
    replication_factor: Final[int]
    topic_configs: Final[tuple[TopicConfig, ...]]
