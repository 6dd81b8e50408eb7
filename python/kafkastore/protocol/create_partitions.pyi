"""Messages of create_partitions; made by `make schema`."""

from typing import Final, final

@final
class CreatePartitionsRequest:
    """Versions 0-3."""

    topics: Final[tuple[CreatePartitionsTopic, ...]]
    timeout_ms: Final[int]
    validate_only: Final[bool]

@final
class CreatePartitionsTopic:
    """Of CreatePartitionsRequest."""

    name: Final[str]
    count: Final[int]
    assignments: Final[tuple[CreatePartitionsAssignment, ...] | None]

@final
class CreatePartitionsAssignment:
    """Of CreatePartitionsRequest."""

    broker_ids: Final[tuple[int, ...]]

@final
class CreatePartitionsResponse:
    """Versions 0-3."""

    throttle_time_ms: Final[int]
    results: Final[tuple[CreatePartitionsTopicResult, ...]]

@final
class CreatePartitionsTopicResult:
    """Of CreatePartitionsResponse."""

    name: Final[str]
    error_code: Final[int]
    error_message: Final[str | None]
