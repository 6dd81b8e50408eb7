"""Messages of describe_producers; made by `make schema`."""

from typing import Final, final

@final
class DescribeProducersRequest:
    """Versions 0."""

    topics: Final[tuple[TopicRequest, ...]]

@final
class TopicRequest:
    """Of DescribeProducersRequest."""

    name: Final[str]
    partition_indexes: Final[tuple[int, ...]]

@final
class DescribeProducersResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    topics: Final[tuple[TopicResponse, ...]]

@final
class TopicResponse:
    """Of DescribeProducersResponse."""

    name: Final[str]
    partitions: Final[tuple[PartitionResponse, ...]]

@final
class PartitionResponse:
    """Of DescribeProducersResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    active_producers: Final[tuple[ProducerState, ...]]

@final
class ProducerState:
    """Of DescribeProducersResponse."""

    producer_id: Final[int]
    producer_epoch: Final[int]
    last_sequence: Final[int]
    last_timestamp: Final[int]
    coordinator_epoch: Final[int]
    current_txn_start_offset: Final[int]
