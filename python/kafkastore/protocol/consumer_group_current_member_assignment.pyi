"""Messages of consumer_group_current_member_assignment; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupCurrentMemberAssignmentKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class ConsumerGroupCurrentMemberAssignmentValue:
    """Versions 0."""

    member_epoch: Final[int]
    previous_member_epoch: Final[int]
    state: Final[int]
    assigned_partitions: Final[tuple[TopicPartitions, ...]]
    partitions_pending_revocation: Final[tuple[TopicPartitions, ...]]

@final
class TopicPartitions:
    """Of ConsumerGroupCurrentMemberAssignmentValue."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]
    assignment_epochs: Final[tuple[int, ...] | None]
