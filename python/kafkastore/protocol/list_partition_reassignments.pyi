"""Messages of list_partition_reassignments; made by `make schema`."""

from typing import Final, final

@final
class ListPartitionReassignmentsRequest:
    """Versions 0."""

    timeout_ms: Final[int]
    topics: Final[tuple[ListPartitionReassignmentsTopics, ...] | None]

@final
class ListPartitionReassignmentsTopics:
    """Of ListPartitionReassignmentsRequest."""

    name: Final[str]
    partition_indexes: Final[tuple[int, ...]]

@final
class ListPartitionReassignmentsResponse:
    """Versions 0."""

    throttle_time_ms: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
    topics: Final[tuple[OngoingTopicReassignment, ...]]

@final
class OngoingTopicReassignment:
    """Of ListPartitionReassignmentsResponse."""

    name: Final[str]
    partitions: Final[tuple[OngoingPartitionReassignment, ...]]

@final
class OngoingPartitionReassignment:
    """Of ListPartitionReassignmentsResponse."""

    partition_index: Final[int]
    replicas: Final[tuple[int, ...]]
    adding_replicas: Final[tuple[int, ...]]
    removing_replicas: Final[tuple[int, ...]]
