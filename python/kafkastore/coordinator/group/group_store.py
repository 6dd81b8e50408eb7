"""The groups this broker coordinates, by id, and which partitions of ``__consumer_offsets`` it is responsible for.

Invariants: a group is in ``groups`` only while its partition is ACTIVE; whoever leaves ``groups`` is Dead first, with
every waiting request answered and every timer cancelled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.group import Group
from kafkastore.coordinator.group.member import JoinResult, SyncResult
from kafkastore.coordinator.group.partitioning import partition_for
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.offsets_log import OffsetsLog
    from kafkastore.purgatory.timer import Clock

LOADING: Final = 1
ACTIVE: Final = 2


class GroupStore:
    __slots__ = ("clock", "groups", "is_running", "log", "partitions")

    def __init__(self, clock: Clock, log: OffsetsLog) -> None:
        self.clock = clock
        self.log = log
        self.is_running = False
        self.groups: dict[str, Group] = {}
        self.partitions: dict[int, int] = {}  # LOADING or ACTIVE; absent: another broker's

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self.log.partition_count())

    def check(self, group_id: str) -> int:
        """NONE when requests for the group may be served here, whether it exists or not."""
        if group_id in self.groups:
            return ErrorCode.NONE
        if not self.is_running:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        state = self.partitions.get(self.partition_for(group_id))
        if state is None:
            return ErrorCode.NOT_COORDINATOR
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if state == LOADING else ErrorCode.NONE

    @property
    def is_loading(self) -> bool:
        return LOADING in self.partitions.values()

    def create(self, group_id: str) -> Group:
        group = Group(group_id, self.partition_for(group_id), self.clock.now_ms())
        self.groups[group_id] = group
        return group

    def is_current(self, group: Group) -> bool:
        """Still the group of this id: an append may end after the group was removed, or removed and made anew."""
        return self.groups.get(group.group_id) is group

    def remove(self, group: Group, error_code: int) -> None:
        """Answers whoever waits with ``error_code``, stops the timers and forgets the group."""
        if self.is_current(group):
            del self.groups[group.group_id]
        group.transition_to(states.DEAD, self.clock.now_ms())
        for timer in (group.join_timer, group.sync_timer, *group.pending_members.values()):
            if timer is not None:
                timer.cancel()
        group.pending_members.clear()
        for member in group.members.values():
            member.session_timer.cancel()
            group.complete_join(member, JoinResult(error_code, member.member_id))
            member.complete_sync(SyncResult(error_code))
