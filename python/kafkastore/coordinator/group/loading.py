"""Taking over and giving up partitions of ``__consumer_offsets``.

While a partition loads, its groups answer COORDINATOR_LOAD_IN_PROGRESS (a heartbeat: NONE). Records are applied in the
order of the log to groups that nobody sees yet; these become visible all at once when the end is reached. Records of
kinds we do not keep, and records that do not follow their grammar, are skipped with one line for each partition.
Offsets that a transaction commits count from its commit marker on, as if written where they were written; an abort
marker drops them (KIP-98). Those of transactions without a marker stay aside in their groups, and a line tells of them.
A partition that is resigned while it loads is forgotten: an epoch tells a late load that it came too late.

All of it is in steps (see ``steps``). Groups that load are seen by nobody else, so that steps rely on nothing but the epoch. Groups
that are given up leave ``GroupStore.groups`` in one step and are ended in others; until then their timers do nothing, as no timer
acts for a group that is not current.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.group import Group
from kafkastore.coordinator.group.group_store import LOADING, Shard
from kafkastore.coordinator.group.log_lines import some
from kafkastore.coordinator.group.member import Member
from kafkastore.coordinator.group.offsets import CommittedOffset, end_transaction, put_offset, remove_offset
from kafkastore.coordinator.group.records import (
    NO_PRODUCER_ID,
    GroupKey,
    MalformedRecordError,
    OffsetKey,
    OtherKey,
    read_group_head,
    read_key,
    read_members,
    read_offset_value,
)
from kafkastore.coordinator.group.steps import ITEMS
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets_log import LoadedRecord
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

    def fail(self, partition: int, epoch: int, reason: str) -> None:
        """The log could not be read: another election may do better (NOT_COORDINATOR until then)."""
        logger.error("Failed to load __consumer_offsets-%d: %s", partition, reason)
        if not self.is_late(partition, epoch):
            self.store.partitions.pop(partition, None)

    def finish(self, loaded: LoadedGroups) -> Steps[None]:
        """The groups become visible in the first step; their members' sessions begin in the others, or with a heartbeat."""
        partition = loaded.partition
        self.store.add_shard(loaded.shard)
        if loaded.skipped:
            logger.warning(
                "Skipped %d records of __consumer_offsets-%d (%s)", loaded.skipped, partition, loaded.skip_reason
            )
        if loaded.groups:
            logger.info("Loaded %d groups of __consumer_offsets-%d", len(loaded.groups), partition)
        groups = list(loaded.groups.values())
        open_groups = sorted(group.group_id for group in groups if group.transactional_offsets)
        if open_groups:
            logger.warning(
                "Open transactions in __consumer_offsets-%d hold offsets of %s; consumers that want stable offsets wait until"
                " these are deleted (kafka-consumer-groups --delete-offsets)",
                partition,
                some(open_groups),
            )
        for group in groups:
            for number, member in enumerate(list(group.members.values())):
                if number % ITEMS == 0:
                    yield None
                if not self.store.is_current(group):
                    break
                # a member that left, or was heard of, meanwhile has no session to begin
                if group.members.get(member.member_id) is member and not member.session_timer.is_running:
                    member.session_timer.start(member.session_timeout_ms)
            is_too_large = len(group.members) > self.config.max_size
            if is_too_large and self.store.is_current(group) and group.can_rebalance:
                self.rebalancer.prepare(group, f"loaded with {len(group.members)} members, over group.max.size")

    def resign(self, partition: int) -> Shard | None:
        """Another broker has the partition. Returns the groups that were there, for ``end``."""
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        return self.store.remove_shard(partition)

    def end(self, shard: Shard | None) -> Steps[None]:
        """Whoever waits in one of these groups is told NOT_COORDINATOR. They are in ``GroupStore.groups`` no more; groups of the
        same ids that are there by now are others."""
        for group in list(shard.groups.values()) if shard is not None else ():
            self.store.end(group, ErrorCode.NOT_COORDINATOR)
            yield None


class LoadedGroups:
    """The state of one partition while its records are read."""

    __slots__ = ("loader", "partition", "shard", "skip_reason", "skipped", "transactions")

    def __init__(self, loader: Loader, partition: int) -> None:
        self.loader = loader
        self.partition = partition
        self.shard = Shard(partition)
        self.transactions: dict[int, set[OffsetKey]] = {}  # producer id -> what its open transaction is to commit
        self.skipped = 0
        self.skip_reason = ""

    @property
    def groups(self) -> dict[str, Group]:
        return self.shard.groups

    def apply(self, records: Sequence[LoadedRecord]) -> Steps[None]:
        for number, (offset, key, value, producer_id, control) in enumerate(records):
            if number % ITEMS == 0:
                yield None
            if control is not None:
                self._end_transaction(offset, producer_id, control)
                continue
            if key is None:
                continue
            try:
                yield from self._apply_one(offset, key, value, producer_id)
            except MalformedRecordError as error:
                self._skip(f"offset {offset}: {error}")

    def _end_transaction(self, record_offset: int, producer_id: int, control: str) -> None:
        if control not in ("commit", "abort"):
            self._skip(f"offset {record_offset}: a control record that is no transaction marker")
            return
        for key in self.transactions.pop(producer_id, ()):
            group = self.groups.get(key.group_id)
            if group is not None:
                end_transaction(group, key.topic, key.partition, producer_id, control == "commit")

    def _apply_one(self, record_offset: int, key: bytes, value: bytes | None, producer_id: int) -> Steps[None]:
        kind = read_key(key)
        if isinstance(kind, OtherKey):
            self._skip(f"offset {record_offset}: unknown key version {kind.version}")
        elif isinstance(kind, GroupKey):
            yield from self._apply_group(kind.group_id, value)
        else:
            self._apply_offset(kind, value, record_offset, producer_id)

    def _apply_offset(self, key: OffsetKey, value: bytes | None, record_offset: int, producer_id: int) -> None:
        group = self.groups.get(key.group_id)
        if value is None:
            if group is not None:
                remove_offset(group, key.topic, key.partition, record_offset)
            return
        offset = CommittedOffset(*read_offset_value(value), record_offset)
        if group is None:
            group = self._new_group(key.group_id)
            self.shard.add(group)
        if producer_id == NO_PRODUCER_ID:
            put_offset(group, key.topic, key.partition, offset)
            return
        group.transactional_offsets.setdefault((key.topic, key.partition), {})[producer_id] = offset
        self.transactions.setdefault(producer_id, set()).add(key)
        self.shard.note_topic(key.topic, key.group_id)

    def _apply_group(self, group_id: str, value: bytes | None) -> Steps[None]:
        before = self.groups.get(group_id)
        if value is None:
            if before is not None and before.has_offsets:
                # commits behind the members' end: the group goes on as a simple one
                self._replace(before, self._new_group(group_id))
            elif before is not None:
                self.shard.discard(before)
            return
        group = yield from self._group_of(group_id, value)
        self._replace(before, group)

    def _replace(self, before: Group | None, group: Group) -> None:
        """A group's records say nothing of its offsets."""
        if before is not None:
            group.offsets = before.offsets
            group.transactional_offsets = before.transactional_offsets
        self.shard.add(group)

    def _group_of(self, group_id: str, data: bytes) -> Steps[Group]:
        value, reader = read_group_head(data)
        group = self._new_group(group_id)
        group.protocol_name = value.protocol_name
        group.generation_id = value.generation_id
        group.state_timestamp_ms = value.state_timestamp_ms
        for number, row in enumerate(read_members(reader), 1):
            if number % ITEMS == 0:
                yield None
            if row.member_id in group.members or row.group_instance_id in group.static_members:
                raise MalformedRecordError(f"group {group_id} has member {row.member_id} twice")
            member = Member(
                row.member_id,
                row.group_instance_id,
                row.client_id,
                row.client_host,
                row.rebalance_timeout_ms,
                row.session_timeout_ms,
                ((value.protocol_name or "", row.subscription),),
                self.loader.rebalancer.member_session_timer(group, row.member_id),
            )
            member.assignment = row.assignment
            group.holds.back(len(data), number)
            group.add(member, value.protocol_type, None)
        group.state = states.STABLE if group.members else states.EMPTY
        group.protocol_type = value.protocol_type or None
        if value.leader_id in group.members:
            group.leader_id = value.leader_id
        return group

    def _new_group(self, group_id: str) -> Group:
        store = self.loader.store
        return Group(group_id, self.shard, store.budget, store.clock.now_ms())

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        if not self.skip_reason:
            self.skip_reason = reason
