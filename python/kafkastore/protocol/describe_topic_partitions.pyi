"""Messages of describe_topic_partitions; made by `make schema`."""

from typing import Final, final

@final
class DescribeTopicPartitionsRequest:
    """Versions 0."""

    topics: Final[tuple[TopicRequest, ...]]
    response_partition_limit: Final[int]
    cursor: Final[DescribeTopicPartitionsRequestCursor | None]

@final
class TopicRequest:
    """Of DescribeTopicPartitionsRequest."""

    name: Final[str]

@final
class DescribeTopicPartitionsRequestCursor:
    """Of DescribeTopicPartitionsRequest."""

    topic_name: Final[str]
    partition_index: Final[int]

@final
class DescribeTopicPartitionsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    topics: Final[tuple[DescribeTopicPartitionsResponseTopic, ...]]
    next_cursor: Final[DescribeTopicPartitionsResponseCursor | None]

@final
class DescribeTopicPartitionsResponseTopic:
    """Of DescribeTopicPartitionsResponse."""

    error_code: Final[int]
    name: Final[str | None]
    topic_id: Final[bytes | None]
    is_internal: Final[bool]
    partitions: Final[tuple[DescribeTopicPartitionsResponsePartition, ...]]
    topic_authorized_operations: Final[int]

@final
class DescribeTopicPartitionsResponsePartition:
    """Of DescribeTopicPartitionsResponse."""

    error_code: Final[int]
    partition_index: Final[int]
    leader_id: Final[int]
    leader_epoch: Final[int]
    replica_nodes: Final[tuple[int, ...]]
    isr_nodes: Final[tuple[int, ...]]
    eligible_leader_replicas: Final[tuple[int, ...] | None]
    last_known_elr: Final[tuple[int, ...] | None]
    offline_replicas: Final[tuple[int, ...]]

@final
class DescribeTopicPartitionsResponseCursor:
    """Of DescribeTopicPartitionsResponse."""

    topic_name: Final[str]
    partition_index: Final[int]
