"""Messages of share_group_target_assignment_metadata; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupTargetAssignmentMetadataKey:
    """Versions 0."""

    group_id: Final[str]

@final
class ShareGroupTargetAssignmentMetadataValue:
    """Versions 0."""

    assignment_epoch: Final[int]
    assignment_timestamp: Final[int]
