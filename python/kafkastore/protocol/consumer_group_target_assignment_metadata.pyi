"""Messages of consumer_group_target_assignment_metadata; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupTargetAssignmentMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ConsumerGroupTargetAssignmentMetadataValue:
    """Versions 0."""

    assignment_epoch: Final[int]
    assignment_timestamp: Final[int]
