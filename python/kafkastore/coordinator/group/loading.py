"""Taking over and giving up partitions of ``__consumer_offsets``.

While a partition loads, its groups answer COORDINATOR_LOAD_IN_PROGRESS (a heartbeat: NONE). The data plane reads the log and keeps
the offsets; here groups are made of the last record of each, and of those that have offsets alone. They become visible all at once
when all are there. Records of groups that do not follow their grammar are skipped with one line for each partition.
A partition that is resigned while it loads is forgotten: an epoch tells a late load that it came too late.

All of it is in steps (see ``steps``). Groups that load are seen by nobody else, so that steps rely on nothing but the epoch. Groups
that are given up leave ``GroupStore.groups`` in one step and are ended in others; until then their timers do nothing, as no timer
acts for a group that is not current.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.group_store import LOADING, Shard
from kafkastore.coordinator.group.log_lines import some
from kafkastore.coordinator.group.member import Member
from kafkastore.coordinator.group.records import MalformedRecordError, read_group_head, read_members
from kafkastore.coordinator.group.steps import ITEMS
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets_log import LoadedGroups
    from kafkastore.coordinator.group.rebalance import Rebalancer
    from kafkastore.coordinator.group.steps import Steps

logger = logging.getLogger("kafkastore.coordinator.group")


class Loader:
    __slots__ = ("config", "epochs", "rebalancer", "store")

    def __init__(self, config: GroupConfig, store: GroupStore, rebalancer: Rebalancer) -> None:
        self.config = config
        self.store = store
        self.rebalancer = rebalancer
        self.epochs: dict[int, int] = {}  # partition -> number of the latest election or resignation

    def begin(self, partition: int) -> tuple[int, Shard | None]:
        """Marks the partition as loading. Returns the epoch that ``is_late`` and ``finish`` need, and the groups that were there,
        for ``end``."""
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        before = self.store.remove_shard(partition)
        self.store.partitions[partition] = LOADING
        return self.epochs[partition], before

    def is_late(self, partition: int, epoch: int) -> bool:
        return self.epochs.get(partition) != epoch

    async def load(self, partition: int, epoch: int) -> tuple[int, LoadedGroups] | None:
        """The number of the load and what the log has; nothing when the partition was given up meanwhile. Raises KafkastoreError."""
        if self.is_late(partition, epoch):
            return None  # given up before this ran: the data plane is not to believe that it loads
        number = self.store.log.begin(partition)
        loaded = await self.store.log.load(partition, number)
        return None if loaded is None else (number, loaded)

    def fail(self, partition: int, epoch: int, reason: str) -> None:
        """The log could not be read: another election may do better (NOT_COORDINATOR until then)."""
        logger.error("Failed to load __consumer_offsets-%d: %s", partition, reason)
        if not self.is_late(partition, epoch):
            self.store.partitions.pop(partition, None)
            self.store.log.close(partition)

    def finish(self, partition: int, epoch: int, number: int, loaded: LoadedGroups) -> Steps[None]:
        """The groups become visible in one step; their members' sessions begin in the others, or with a heartbeat."""
        making = _Making(self, partition, number)
        for count, (group_id, record) in enumerate(loaded.records):
            if count % ITEMS == 0:
                yield None
            yield from making.add(group_id, record)
        for count, group_id in enumerate(loaded.simple_groups):
            if count % ITEMS == 0:
                yield None
            making.add_simple(group_id)
        if self.is_late(partition, epoch):
            return
        self.store.add_shard(making.shard)
        self.store.log.activate(partition, number)
        making.report(loaded)
        for group in list(making.shard.groups.values()):
            yield from self._begin_sessions(group)

    def _begin_sessions(self, group: Group) -> Steps[None]:
        for number, member in enumerate(list(group.members.values())):
            if number % ITEMS == 0:
                yield None
            if not self.store.is_current(group):
                break
            # a member that left, or was heard of, meanwhile has no session to begin
            is_member = group.members.get(member.member_id) is member
            if is_member and not group.lease.has_session(member.member_id):
                group.begin_session(member)
        is_too_large = len(group.members) > self.config.max_size
        if is_too_large and self.store.is_current(group) and group.can_rebalance:
            self.rebalancer.prepare(group, f"loaded with {len(group.members)} members, over group.max.size")

    def resign(self, partition: int) -> Shard | None:
        """Another broker has the partition. Returns the groups that were there, for ``end``."""
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        self.store.log.close(partition)
        return self.store.remove_shard(partition)

    def end(self, shard: Shard | None) -> Steps[None]:
        """Whoever waits in one of these groups is told NOT_COORDINATOR. They are in ``GroupStore.groups`` no more; groups of the
        same ids that are there by now are others."""
        for group in list(shard.groups.values()) if shard is not None else ():
            self.store.end(group, ErrorCode.NOT_COORDINATOR)
            yield None


class _Making:
    """The groups of one partition, until they become visible."""

    __slots__ = ("loader", "shard", "skip_reason", "skipped")

    def __init__(self, loader: Loader, partition: int, number: int) -> None:
        self.loader = loader
        self.shard = Shard(partition, number)
        self.skipped = 0
        self.skip_reason = ""

    def add_simple(self, group_id: str) -> None:
        self.shard.add(self.loader.store.new_group(group_id, self.shard))

    def add(self, group_id: str, record: bytes) -> Steps[None]:
        """A group of its record; one whose record cannot be read is there if it has offsets."""
        group = self.loader.store.new_group(group_id, self.shard)
        try:
            yield from self._read(group, record)
        except MalformedRecordError as error:
            self.skipped += 1
            self.skip_reason = self.skip_reason or str(error)
            group.holds.release()
            group.lease.release()
            group = self.loader.store.new_group(group_id, self.shard)
            if not group.lease.has_offsets():
                group.lease.release()
                return
        self.shard.add(group)

    def _read(self, group: Group, record: bytes) -> Steps[None]:
        value, reader = read_group_head(record)
        group.protocol_name = value.protocol_name
        group.generation_id = value.generation_id
        group.state_timestamp_ms = value.state_timestamp_ms
        for number, row in enumerate(read_members(reader), 1):
            if number % ITEMS == 0:
                yield None
            if row.member_id in group.members or row.group_instance_id in group.static_members:
                raise MalformedRecordError(f"group {group.group_id} has member {row.member_id} twice")
            member = Member(
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                row.rebalance_timeout_ms,
                row.session_timeout_ms,
                ((value.protocol_name or "", row.subscription),),
            )
            member.assignment = row.assignment
            group.holds.back(len(record), number)
            group.add(member, value.protocol_type, None)
        group.state = states.STABLE if group.members else states.EMPTY
        group.protocol_type = value.protocol_type or None
        if value.leader_id in group.members:
            group.leader_id = value.leader_id
        group.publish()

    def report(self, loaded: LoadedGroups) -> None:
        partition, skipped = self.shard.partition, self.skipped + loaded.skipped
        if skipped:
            reason = loaded.skip_reason or self.skip_reason
            logger.warning("Skipped %d records of __consumer_offsets-%d (%s)", skipped, partition, reason)
        if self.shard.groups:
            logger.info("Loaded %d groups of __consumer_offsets-%d", len(self.shard.groups), partition)
        if loaded.unstable_groups:
            logger.warning(
                "Open transactions in __consumer_offsets-%d hold offsets of %s; consumers that want stable offsets wait until"
                " these are deleted (kafka-consumer-groups --delete-offsets)",
                partition,
                some(loaded.unstable_groups),
            )
