"""Messages of streams_group_current_member_assignment; made by `make schema`."""

from typing import Final, final

@final
class StreamsGroupCurrentMemberAssignmentKey:
    """Versions 0."""

    group_id: Final[str]
    member_id: Final[str]

@final
class StreamsGroupCurrentMemberAssignmentValue:
    """Versions 0."""

    member_epoch: Final[int]
    previous_member_epoch: Final[int]
    state: Final[int]
    active_tasks: Final[tuple[TaskIds, ...]]
    standby_tasks: Final[tuple[TaskIds, ...]]
    warmup_tasks: Final[tuple[TaskIds, ...]]
    active_tasks_pending_revocation: Final[tuple[TaskIds, ...]]
    standby_tasks_pending_revocation: Final[tuple[TaskIds, ...]]
    warmup_tasks_pending_revocation: Final[tuple[TaskIds, ...]]

@final
class TaskIds:
    """Of StreamsGroupCurrentMemberAssignmentValue."""

    subtopology_id: Final[str]
    partitions: Final[tuple[int, ...]]
    assignment_epochs: Final[tuple[int, ...] | None]
