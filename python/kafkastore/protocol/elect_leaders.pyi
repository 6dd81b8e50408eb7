"""Messages of elect_leaders; made by `make schema`."""

from typing import Final, final

@final
class ElectLeadersRequest:
    """Versions 0-2.

    Not in every version: election_type 1+.
    """

    election_type: Final[int]
    topic_partitions: Final[tuple[TopicPartitions, ...] | None]
    timeout_ms: Final[int]

@final
class TopicPartitions:
    """Of ElectLeadersRequest."""

    topic: Final[str]
    partitions: Final[tuple[int, ...]]

@final
class ElectLeadersResponse:
    """Versions 0-2.

    Not in every version: error_code 1+.
    """

    throttle_time_ms: Final[int]
    error_code: Final[int]
    replica_election_results: Final[tuple[ReplicaElectionResult, ...]]

@final
class ReplicaElectionResult:
    """Of ElectLeadersResponse."""

    topic: Final[str]
    partition_result: Final[tuple[PartitionResult, ...]]

@final
class PartitionResult:
    """Of ElectLeadersResponse."""

    partition_id: Final[int]
    error_code: Final[int]
    error_message: Final[str | None]
