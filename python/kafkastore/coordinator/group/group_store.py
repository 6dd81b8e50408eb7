"""The groups that this broker coordinates, by id, and by the partition of ``__consumer_offsets`` that keeps them.

Invariants: a group is in ``groups`` only while its partition is ACTIVE, and then also in that partition's shard; a
group that leaves ``groups`` is ended soon after, with every waiting request answered, every timer cancelled and its
lease released. A shard's index ``by_state`` follows its groups. Never: knows of what kind a group is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from kafkastore.coordinator.runtime.partitioning import partition_for
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.coordinator.group.offsets_log import GroupLease, OffsetsLog
    from kafkastore.coordinator.runtime.partitions import Partitions
    from kafkastore.purgatory.timer import Clock


class StoredGroup(Protocol):
    """The interface of a group that the store needs."""

    @property
    def group_id(self) -> str: ...

    @property
    def state(self) -> str:
        """The name of the group's state."""

    @property
    def partition(self) -> int:
        """The partition of ``__consumer_offsets`` that keeps the group."""

    def end(self, error_code: int, now_ms: int) -> None:
        """Answers the requests that wait with ``error_code``, stops the timers and releases the lease."""


G = TypeVar("G", bound=StoredGroup)


class Shard(Generic[G]):
    """The groups of one partition of ``__consumer_offsets``, by id and by state."""

    __slots__ = ("by_state", "groups", "number", "partition")

    def __init__(self, partition: int, number: int) -> None:
        self.partition = partition
        self.number = number  # of the load that made this shard
        self.groups: dict[str, G] = {}
        self.by_state: dict[str, dict[str, G]] = {}

    def in_state(self, state: str) -> dict[str, G]:
        """Groups by id."""
        return self.by_state.get(state, {})

    def add(self, group: G) -> None:
        """Adds the group; it replaces a group of the same id."""
        before = self.groups.get(group.group_id)
        if before is not None:
            self.in_state(before.state).pop(before.group_id, None)
        self.groups[group.group_id] = group
        self.by_state.setdefault(group.state, {})[group.group_id] = group

    def discard(self, group: G) -> None:
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            self.in_state(group.state).pop(group.group_id, None)

    def change_state(self, group: G, before: str) -> None:
        if self.groups.get(group.group_id) is group:
            self.in_state(before).pop(group.group_id, None)
            self.by_state.setdefault(group.state, {})[group.group_id] = group


class GroupStore(Generic[G]):
    __slots__ = ("_make", "clock", "groups", "log", "partitions", "shards")

    def __init__(
        self,
        partitions: Partitions,
        clock: Clock,
        log: OffsetsLog,
        make: Callable[[str, Shard[G], GroupLease, int], G],
    ) -> None:
        """``make(group id, shard, lease, now in ms)`` makes a new group without members."""
        self.partitions = partitions
        self.clock = clock
        self.log = log
        self.groups: dict[str, G] = {}
        self.shards: dict[int, Shard[G]] = {}  # of ACTIVE partitions
        self._make = make

    def partition_for(self, group_id: str) -> int:
        return partition_for(group_id, self.log.partition_count())

    def check(self, group_id: str) -> int:
        """NONE when requests for the group may be served here, whether it exists or not."""
        if group_id in self.groups:
            return ErrorCode.NONE
        return self.partitions.check(self.partition_for(group_id))

    def create(self, group_id: str) -> G:
        """Creates the group. To be called only when ``check`` says NONE."""
        shard = self.shards[self.partition_for(group_id)]
        group = self.new_group(group_id, shard)
        self.groups[group_id] = group
        shard.add(group)
        return group

    def new_group(self, group_id: str, shard: Shard[G]) -> G:
        """Makes a group with a lease, which is not in ``groups`` or in the shard yet."""
        lease = self.log.lease(shard.partition, shard.number, group_id)
        return self._make(group_id, shard, lease, self.clock.now_ms())

    def is_current(self, group: G) -> bool:
        """Whether this is still the group of its id: when an append ends, the group may be removed or made anew."""
        return self.groups.get(group.group_id) is group

    def add_shard(self, shard: Shard[G]) -> None:
        """Adds the groups of a partition that is ACTIVE from now on."""
        self.shards[shard.partition] = shard
        self.groups.update(shard.groups)

    def remove_shard(self, partition: int) -> Shard[G] | None:
        """Removes the partition's groups. The caller must then end each of them with ``end``."""
        shard = self.shards.pop(partition, None)
        if shard is not None:
            for group_id in shard.groups:
                self.groups.pop(group_id, None)
        return shard

    def remove(self, group: G, error_code: int) -> None:
        """Removes the group from the store and ends it."""
        if self.is_current(group):
            del self.groups[group.group_id]
        shard = self.shards.get(group.partition)
        if shard is not None:
            shard.discard(group)
        self.end(group, error_code)

    def end(self, group: G, error_code: int) -> None:
        """Ends a group that is no longer in ``groups``."""
        group.end(error_code, self.clock.now_ms())
