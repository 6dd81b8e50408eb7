"""Messages of streams_group_target_assignment_metadata; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupTargetAssignmentMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class StreamsGroupTargetAssignmentMetadataValue:
    """Versions 0."""

    assignment_epoch: Final[int]
    assignment_timestamp: Final[int]
