"""Taking over and giving up partitions of ``__consumer_offsets``.

While a partition loads, its groups answer COORDINATOR_LOAD_IN_PROGRESS (a heartbeat: NONE). Records are applied in the
order of the log to groups that nobody sees yet; these become visible all at once when the end is reached. Records of
kinds we do not keep, and records that do not follow their grammar, are skipped with one line for each partition.
Offsets that a transaction commits count from its commit marker on, as if written where they were written; an abort
marker drops them (KIP-98). Those of transactions without a marker stay aside in their groups, and a line tells of them.
A partition that is resigned while it loads is forgotten: an epoch tells a late load that it came too late.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.group import Group
from kafkastore.coordinator.group.group_store import ACTIVE, LOADING
from kafkastore.coordinator.group.member import Member
from kafkastore.coordinator.group.offsets import CommittedOffset, end_transaction, put_offset, remove_offset
from kafkastore.coordinator.group.records import (
    NO_PRODUCER_ID,
    GroupKey,
    GroupValue,
    MalformedRecordError,
    OffsetKey,
    OtherKey,
    read_group_value,
    read_key,
    read_offset_value,
)
from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets_log import LoadedRecord
    from kafkastore.coordinator.group.rebalance import Rebalancer

logger = logging.getLogger("kafkastore.coordinator.group")


class Loader:
    __slots__ = ("config", "epochs", "rebalancer", "store")

    def __init__(self, config: GroupConfig, store: GroupStore, rebalancer: Rebalancer) -> None:
        self.config = config
        self.store = store
        self.rebalancer = rebalancer
        self.epochs: dict[int, int] = {}  # partition -> number of the latest election or resignation

    def begin(self, partition: int) -> int:
        """Marks the partition as loading. Returns what ``load`` and ``finish`` need."""
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        self._drop_groups(partition)
        self.store.partitions[partition] = LOADING
        return self.epochs[partition]

    async def load(self, partition: int, epoch: int) -> None:
        """Reads the whole partition, then serves it. A failed read leaves it to another election (NOT_COORDINATOR)."""
        loaded = LoadedGroups(self, partition)
        try:
            async for records in self.store.log.load(partition):
                if self.epochs.get(partition) != epoch:
                    return
                loaded.apply(records)
        except KafkastoreError as error:
            logger.error("Failed to load __consumer_offsets-%d: %s", partition, error)  # noqa: TRY400 one line is enough
            if self.epochs.get(partition) == epoch:
                self.store.partitions.pop(partition, None)
            return
        if self.epochs.get(partition) == epoch:
            self.finish(partition, loaded)

    def finish(self, partition: int, loaded: LoadedGroups) -> None:
        """The groups become visible; sessions begin now."""
        self.store.partitions[partition] = ACTIVE
        self.store.groups.update(loaded.groups)
        if loaded.skipped:
            logger.warning(
                "Skipped %d records of __consumer_offsets-%d (%s)", loaded.skipped, partition, loaded.skip_reason
            )
        open_groups = sorted(group.group_id for group in loaded.groups.values() if group.transactional_offsets)
        if open_groups:
            logger.warning(
                "Open transactions in __consumer_offsets-%d hold offsets of %s; consumers that want stable offsets wait until"
                " these are deleted (kafka-consumer-groups --delete-offsets)",
                partition,
                ", ".join(open_groups),
            )
        if loaded.groups:
            logger.info("Loaded %d groups of __consumer_offsets-%d", len(loaded.groups), partition)
        for group in loaded.groups.values():
            group.subscribed_topics = group.compute_subscribed_topics()
            for member in group.members.values():
                member.session_timer.start(member.session_timeout_ms)
            if len(group.members) > self.config.max_size:
                self.rebalancer.prepare(group, f"loaded with {len(group.members)} members, over group.max.size")

    def resign(self, partition: int) -> None:
        """Another broker has the partition: whoever waits is told NOT_COORDINATOR, everything is forgotten."""
        self.epochs[partition] = self.epochs.get(partition, 0) + 1
        self.store.partitions.pop(partition, None)
        self._drop_groups(partition)

    def _drop_groups(self, partition: int) -> None:
        for group in [group for group in self.store.groups.values() if group.partition == partition]:
            self.store.remove(group, ErrorCode.NOT_COORDINATOR)


class LoadedGroups:
    """The state of one partition while its records are read."""

    __slots__ = ("groups", "loader", "partition", "skip_reason", "skipped", "transactions")

    def __init__(self, loader: Loader, partition: int) -> None:
        self.loader = loader
        self.partition = partition
        self.groups: dict[str, Group] = {}
        self.transactions: dict[int, set[OffsetKey]] = {}  # producer id -> what its open transaction is to commit
        self.skipped = 0
        self.skip_reason = ""

    def apply(self, records: Sequence[LoadedRecord]) -> None:
        for offset, key, value, producer_id, control in records:
            if control is not None:
                self._end_transaction(offset, producer_id, control)
                continue
            if key is None:
                continue
            try:
                self._apply_one(offset, key, value, producer_id)
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

    def _apply_one(self, record_offset: int, key: bytes, value: bytes | None, producer_id: int) -> None:
        kind = read_key(key)
        if isinstance(kind, OtherKey):
            self._skip(f"offset {record_offset}: unknown key version {kind.version}")
        elif isinstance(kind, GroupKey):
            self._apply_group(kind.group_id, value)
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
            group = self.groups[key.group_id] = self._new_group(key.group_id)
        if producer_id == NO_PRODUCER_ID:
            put_offset(group, key.topic, key.partition, offset)
            return
        group.transactional_offsets.setdefault((key.topic, key.partition), {})[producer_id] = offset
        self.transactions.setdefault(producer_id, set()).add(key)

    def _apply_group(self, group_id: str, value: bytes | None) -> None:
        before = self.groups.get(group_id)
        if value is None:
            if before is not None and before.has_offsets:
                # commits behind the members' end: the group goes on as a simple one
                self._replace(before, self._new_group(group_id))
            else:
                self.groups.pop(group_id, None)
            return
        group = self._group_of(group_id, read_group_value(value))
        self._replace(before, group)

    def _replace(self, before: Group | None, group: Group) -> None:
        """A group's records say nothing of its offsets."""
        if before is not None:
            group.offsets = before.offsets
            group.transactional_offsets = before.transactional_offsets
        self.groups[group.group_id] = group

    def _group_of(self, group_id: str, value: GroupValue) -> Group:
        group = self._new_group(group_id)
        group.protocol_name = value.protocol_name
        group.generation_id = value.generation_id
        group.state = states.STABLE if value.members else states.EMPTY
        group.state_timestamp_ms = value.state_timestamp_ms
        for row in value.members:
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
            group.add(member, value.protocol_type, None)
        group.protocol_type = value.protocol_type or None
        if value.leader_id in group.members:
            group.leader_id = value.leader_id
        return group

    def _new_group(self, group_id: str) -> Group:
        return Group(group_id, self.partition, self.loader.store.clock.now_ms())

    def _skip(self, reason: str) -> None:
        self.skipped += 1
        if not self.skip_reason:
            self.skip_reason = reason
