"""Messages of streams_group_target_assignment_member; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupTargetAssignmentMemberKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class StreamsGroupTargetAssignmentMemberValue:
    """Versions 0."""

    active_tasks: Final[tuple[TaskIds, ...]]
    standby_tasks: Final[tuple[TaskIds, ...]]
    warmup_tasks: Final[tuple[TaskIds, ...]]

@final
class TaskIds:
    """Of StreamsGroupTargetAssignmentMemberValue."""

    subtopology_id: Final[str]
    partitions: Final[tuple[int, ...]]
