"""Messages of consumer_group_partition_metadata; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupPartitionMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ConsumerGroupPartitionMetadataValue:
    """Versions 0."""

    topics: Final[tuple[TopicMetadata, ...]]

@final
class TopicMetadata:
    """Of ConsumerGroupPartitionMetadataValue."""

    topic_id: Final[bytes | None]
    topic_name: Final[str]
    num_partitions: Final[int]
    partition_metadata: Final[tuple[PartitionMetadata, ...]]

@final
class PartitionMetadata:
    """Of ConsumerGroupPartitionMetadataValue."""

    partition: Final[int]
    racks: Final[tuple[str, ...]]
