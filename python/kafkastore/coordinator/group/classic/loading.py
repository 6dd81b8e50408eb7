"""Loads classic groups from their records, partition by partition of ``__consumer_offsets``.

The data plane reads the log and keeps the offsets. This module makes a group from the last record of each group, and a
simple group for each id that has only offsets. All groups of a partition become visible at once when the last one is
made. Records of groups that do not follow their grammar are skipped with one line for each partition, and so are groups
that are in another partition since partitions were added: as in Kafka they begin anew there.

Place: ``Elections`` calls it when this broker is elected for a partition, or gives it up. All work is in steps. Groups
that load are not visible to other code, so steps rely only on the election. Groups that are given up leave
``GroupStore.groups`` in one step and are ended in later steps; until then their timers do nothing, as no timer acts for
a group that is not current.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.member import Member
from kafkastore.coordinator.group.classic.records import MalformedRecordError, read_group_head, read_members
from kafkastore.coordinator.group.group_store import Shard
from kafkastore.coordinator.runtime.log_lines import some
from kafkastore.coordinator.runtime.steps import ITEMS, LONG_ID
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.coordinator.group.classic.group import Group
    from kafkastore.coordinator.group.classic.rebalance import Rebalancer
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets_log import LoadedGroups
    from kafkastore.coordinator.runtime.steps import Steps

logger = logging.getLogger("kafkastore.coordinator.group")


class LoadedPartition(NamedTuple):
    number: int  # of the load in the data plane
    groups: LoadedGroups


class Loader:
    """The :class:`kafkastore.coordinator.runtime.elections.Shards` of groups."""

    __slots__ = ("config", "rebalancer", "store")

    def __init__(self, config: GroupConfig, store: GroupStore[Group], rebalancer: Rebalancer) -> None:
        self.config = config
        self.store = store
        self.rebalancer = rebalancer

    def leave(self, partition: int) -> Steps[None]:
        return self._end(self.store.remove_shard(partition))

    def _end(self, shard: Shard[Group] | None) -> Steps[None]:
        """Ends the groups of the shard: answers their waiting requests with NOT_COORDINATOR. Newer groups of the same
        ids in ``GroupStore.groups`` are not touched."""
        for group in list(shard.groups.values()) if shard is not None else ():
            self.store.end(group, ErrorCode.NOT_COORDINATOR)
            yield None

    def close(self, partition: int) -> None:
        self.store.log.close(partition)

    async def read(self, partition: int) -> LoadedPartition | None:
        number = self.store.log.begin(partition)
        groups = await self.store.log.load(partition, number)
        return None if groups is None else LoadedPartition(number, groups)

    def enter(self, partition: int, read: LoadedPartition, activate: Callable[[], bool]) -> Steps[None]:
        """The groups become visible in one step; their members' sessions begin in later steps, or with a heartbeat."""
        making = _LoadingGroups(self, partition, read.number)
        for count, (group_id, record) in enumerate(read.groups.records):
            if count % ITEMS == 0 or len(group_id) > LONG_ID:
                yield None
            if making.is_placed(group_id):
                yield from making.add(group_id, record)
        for count, group_id in enumerate(read.groups.simple_groups):
            if count % ITEMS == 0 or len(group_id) > LONG_ID:
                yield None
            if making.is_placed(group_id):
                making.add_simple(group_id)
        if not activate():
            return
        self.store.add_shard(making.shard)
        self.store.log.activate(partition, read.number)
        making.report(read.groups)
        for group in list(making.shard.groups.values()):
            yield from self._begin_sessions(group)

    def _begin_sessions(self, group: Group) -> Steps[None]:
        for number, member in enumerate(list(group.members.values())):
            if number % ITEMS == 0:
                yield None
            if not self.store.is_current(group):
                break
            # a member that left meanwhile needs no session; a member that sent a request meanwhile has one
            is_member = group.members.get(member.member_id) is member
            if is_member and not group.lease.has_session(member.member_id):
                group.begin_session(member)
        is_too_large = len(group.members) > self.config.max_size
        if is_too_large and self.store.is_current(group) and group.can_rebalance:
            self.rebalancer.prepare(group, f"loaded with {len(group.members)} members, over group.max.size")


class _LoadingGroups:
    """The groups of one partition, until they become visible."""

    __slots__ = ("loader", "misplaced", "shard", "skip_reason", "skipped")

    def __init__(self, loader: Loader, partition: int, number: int) -> None:
        self.loader = loader
        self.shard: Shard[Group] = Shard(partition, number)
        self.skipped = 0
        self.skip_reason = ""
        self.misplaced: list[str] = []

    def is_placed(self, group_id: str) -> bool:
        """Whether requests for the group come to this partition; while the topic is not known, all do."""
        store = self.loader.store
        if not store.log.is_known() or store.partition_for(group_id) == self.shard.partition:
            return True
        self.misplaced.append(group_id)
        return False

    def add_simple(self, group_id: str) -> None:
        self.shard.add(self.loader.store.new_group(group_id, self.shard))

    def add(self, group_id: str, record: bytes) -> Steps[None]:
        """Adds a group from its record. A group whose record is malformed is added, without members, if it has
        offsets."""
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
        if self.misplaced:
            logger.warning(
                "__consumer_offsets-%d has the offsets of %s, which belong to another partition since partitions were "
                "added: these groups begin without offsets, as in Kafka",
                partition,
                some(self.misplaced),
            )
        if self.shard.groups:
            logger.info("Loaded %d groups of __consumer_offsets-%d", len(self.shard.groups), partition)
        if loaded.unstable_groups:
            logger.info(
                "Open transactions in __consumer_offsets-%d hold offsets of %s; consumers that want stable offsets "
                "wait until the transactions end",
                partition,
                some(loaded.unstable_groups),
            )
