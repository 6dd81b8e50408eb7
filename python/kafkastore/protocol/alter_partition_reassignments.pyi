"""Messages of alter_partition_reassignments; made by `make schema`."""

from typing import Final, final

@final
class AlterPartitionReassignmentsRequest:
    """Versions 0-1.

    Not in every version: allow_replication_factor_change 1.
    """

    timeout_ms: Final[int]
    allow_replication_factor_change: Final[bool]
    topics: Final[tuple[ReassignableTopic, ...]]

@final
class ReassignableTopic:
    """Of AlterPartitionReassignmentsRequest."""

    name: Final[str]
    partitions: Final[tuple[ReassignablePartition, ...]]

@final
class ReassignablePartition:
    """Of AlterPartitionReassignmentsRequest."""

    partition_index: Final[int]
    replicas: Final[tuple[int, ...] | None]

@final
class AlterPartitionReassignmentsResponse:
    """Versions 0-1.

    Not in every version: allow_replication_factor_change 1.
    """

    throttle_time_ms: Final[int]
    allow_replication_factor_change: Final[bool]
    error_code: Final[int]
    error_message: Final[str | None]
    responses: Final[tuple[ReassignableTopicResponse, ...]]

@final
class ReassignableTopicResponse:
    """Of AlterPartitionReassignmentsResponse."""

    name: Final[str]
    partitions: Final[tuple[ReassignablePartitionResponse, ...]]

@final
class ReassignablePartitionResponse:
    """Of AlterPartitionReassignmentsResponse."""

    partition_index: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
