"""Messages of share_group_current_member_assignment; made by `make schema`."""

from typing import Final, final

@final
class ShareGroupCurrentMemberAssignmentKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class ShareGroupCurrentMemberAssignmentValue:
    """Versions 0."""

    member_epoch: Final[int]
    previous_member_epoch: Final[int]
    state: Final[int]
    assigned_partitions: Final[tuple[TopicPartitions, ...]]

@final
class TopicPartitions:
    """Of ShareGroupCurrentMemberAssignmentValue."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]
