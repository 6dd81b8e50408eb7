"""The groups this broker coordinates, by id, and which partitions of ``__consumer_offsets`` it is responsible for.

Invariants: a group is in ``groups`` only while its partition is ACTIVE, and then also in that partition's shard; whoever leaves
``groups`` is Dead soon after, with every waiting request answered, every timer cancelled and its lease released. A shard's index
``by_state`` follows its groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.budget import Budget
from kafkastore.coordinator.group.group import Group
from kafkastore.coordinator.group.member import JoinResult, SyncResult
from kafkastore.coordinator.group.partitioning import partition_for
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.offsets_log import OffsetsLog
    from kafkastore.purgatory.timer import Clock

LOADING: Final = 1
ACTIVE: Final = 2


class Shard:
    """The groups of one partition of ``__consumer_offsets``, and where to find them."""

    __slots__ = ("by_state", "groups", "number", "partition")

    def __init__(self, partition: int, number: int) -> None:
        self.partition = partition
        self.number = number  # of the load that made it
        self.groups: dict[str, Group] = {}
        self.by_state: dict[str, dict[str, Group]] = {state: {} for state in states.STATES}

    def add(self, group: Group) -> None:
        """Takes the place of a group of the same id."""
        before = self.groups.get(group.group_id)
        if before is not None:
            self.by_state[before.state].pop(before.group_id, None)
        self.groups[group.group_id] = group
        self.by_state[group.state][group.group_id] = group

    def discard(self, group: Group) -> None:
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            self.by_state[group.state].pop(group.group_id, None)

    def change_state(self, group: Group, before: str) -> None:
        if self.groups.get(group.group_id) is group:
            self.by_state[before].pop(group.group_id, None)
            self.by_state[group.state][group.group_id] = group


class GroupStore:
    __slots__ = ("budget", "clock", "groups", "is_running", "log", "partitions", "shards")

    def __init__(self, config: GroupConfig, clock: Clock, log: OffsetsLog) -> None:
        self.clock = clock
        self.log = log
        self.budget = Budget(config.group_max_bytes, config.unstored_max_bytes)
        self.is_running = False
        self.groups: dict[str, Group] = {}
        self.partitions: dict[int, int] = {}  # LOADING or ACTIVE; absent: another broker's
        self.shards: dict[int, Shard] = {}  # of ACTIVE partitions

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
        """Only when ``check`` says NONE."""
        shard = self.shards[self.partition_for(group_id)]
        group = self.new_group(group_id, shard)
        self.groups[group_id] = group
        shard.add(group)
        return group

    def new_group(self, group_id: str, shard: Shard) -> Group:
        """With a lease; in no list yet."""
        lease = self.log.lease(shard.partition, shard.number, group_id)
        return Group(group_id, shard, lease, self.budget, self.clock.now_ms())

    def is_current(self, group: Group) -> bool:
        """Still the group of this id: an append may end after the group was removed, or removed and made anew."""
        return self.groups.get(group.group_id) is group

    def add_shard(self, shard: Shard) -> None:
        """All its groups are there from now on."""
        self.partitions[shard.partition] = ACTIVE
        self.shards[shard.partition] = shard
        self.groups.update(shard.groups)

    def remove_shard(self, partition: int) -> Shard | None:
        """None of its groups is there any more. They still have to be ended, one by one, with ``end``."""
        self.partitions.pop(partition, None)
        shard = self.shards.pop(partition, None)
        if shard is not None:
            for group_id in shard.groups:
                self.groups.pop(group_id, None)
        return shard

    def remove(self, group: Group, error_code: int) -> None:
        """Answers whoever waits with ``error_code``, stops the timers and forgets the group."""
        if self.is_current(group):
            del self.groups[group.group_id]
        group.shard.discard(group)
        self.end(group, error_code)

    def end(self, group: Group, error_code: int) -> None:
        """Dead: of a group that is in ``groups`` no more."""
        group.transition_to(states.DEAD, self.clock.now_ms())
        for timer in (group.join_timer, group.sync_timer, *group.pending_members.values()):
            if timer is not None:
                timer.cancel()
        group.pending_members.clear()
        for member in group.members.values():
            group.complete_join(member, JoinResult(error_code, member.member_id))
            member.complete_sync(SyncResult(error_code))
        group.lease.release()
        group.holds.release()
