"""Messages of consumer_group_target_assignment_member; made by `make schema`."""

from typing import Final, final

@final
class ConsumerGroupTargetAssignmentMemberKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class ConsumerGroupTargetAssignmentMemberValue:
    """Versions 0."""

    topic_partitions: Final[tuple[TopicPartition, ...]]

@final
class TopicPartition:
    """Of ConsumerGroupTargetAssignmentMemberValue."""

    topic_id: Final[bytes | None]
    partitions: Final[tuple[int, ...]]
