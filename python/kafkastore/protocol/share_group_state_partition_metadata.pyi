"""Messages of share_group_state_partition_metadata; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupStatePartitionMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ShareGroupStatePartitionMetadataValue:
    """Versions 0."""

    initializing_topics: Final[tuple[TopicPartitionsInfo, ...]]
    initialized_topics: Final[tuple[TopicPartitionsInfo, ...]]
    deleting_topics: Final[tuple[TopicInfo, ...]]

@final
class TopicPartitionsInfo:
    """Of ShareGroupStatePartitionMetadataValue."""

    topic_id: Final[bytes | None]
    topic_name: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class TopicInfo:
    """Of ShareGroupStatePartitionMetadataValue."""

    topic_id: Final[bytes | None]
    topic_name: Final[str]
