"""What goes away: groups and offsets that are deleted, offsets and groups that expire, offsets of topics that were deleted.

All of it is tombstones, appended in batches; the cache follows when they are durable, in the log's order (see
``offsets``). A group that somebody joined or committed to while its tombstone was being written stays: its newer
records are behind the tombstone in the log.

Expiry (KIP-211), per offset, base time + retention:

- A  the client gave a retention time (old versions): at that time.
- B  the group is Empty and had members: since it became Empty; with records of old Kafka versions since the commit.
- C  a simple group (it never had members): since the commit.
- D  a Stable consumer group: topics nobody subscribes to, since the commit.
- E  any other: never. Nor an offset of a subscribed topic, nor one with a commit under way or in
  an open transaction.

Walks are in steps (see ``steps``); what lets something go is checked again in the step that appends its tombstone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.log_lines import some
from kafkastore.coordinator.group.offsets import has_offset, known_offsets, known_topics
from kafkastore.coordinator.group.offsets_log import response_error
from kafkastore.coordinator.group.records import NO_TIMESTAMP
from kafkastore.coordinator.group.steps import ITEMS
from kafkastore.coordinator.group.subscription import subscribed_among
from kafkastore.coordinator.group.tombstones import MAX_BATCH_BYTES, bury
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets import CommittedOffset, PartitionErrors
    from kafkastore.coordinator.group.steps import Steps
    from kafkastore.coordinator.group.tombstones import Doomed

logger = logging.getLogger("kafkastore.coordinator.group")

SUBSCRIPTION_ATTEMPTS: Final = 3
ROWS_A_BURIAL: Final = MAX_BATCH_BYTES // 64  # expired rows that are collected before they are appended


LONG_ID: Final = 1000
"""Letters; the partition of one of 32,000 takes 2 ms to find."""


class Remover:
    __slots__ = ("config", "store")

    def __init__(self, config: GroupConfig, store: GroupStore) -> None:
        self.config = config
        self.store = store

    # ---- asked for

    def delete_groups(self, group_ids: Iterable[str]) -> Steps[dict[str, int]]:
        """DeleteGroups: {group id: error code}, each id once.

        A group that gets a member before its last tombstone is appended is answered NON_EMPTY_GROUP and stays, maybe without
        offsets that were deleted before the member came; one that moves to another broker is answered what that is called."""
        results: dict[str, int] = {}
        waiting: list[Group] = []
        for number, group_id in enumerate(dict.fromkeys(group_ids), 1):
            error_code = results[group_id] = self._check_deletion(group_id)
            if not error_code:
                waiting.append(self.store.groups[group_id])
            if number % ITEMS == 0 or len(group_id) > LONG_ID:
                yield None
        if waiting:
            logger.info("Deleting groups %s", some(group.group_id for group in waiting))
        refused: dict[str, int] = {}

        def may_go(row: Doomed) -> bool:
            group = row[0]
            if self.store.is_current(group) and group.state == states.EMPTY:
                return True
            refused[group.group_id] = self._check_deletion(group.group_id)
            return False

        for first in range(0, len(waiting), ITEMS):  # groups: an error of an append is that of these
            groups = waiting[first : first + ITEMS]
            errors = yield from bury(self.store, self._everything(groups), may_go)
            for group in groups:
                append_error = errors.get(group.partition, ErrorCode.NONE)
                results[group.group_id] = refused.get(group.group_id, response_error(append_error))
        return results

    def _check_deletion(self, group_id: str) -> int:
        error_code = self.store.check(group_id)
        if error_code:
            return error_code
        group = self.store.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.state == states.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def _everything(self, groups: Sequence[Group]) -> Iterator[Doomed]:
        """Offsets first, each group behind its own."""
        for group in groups:
            for topic in known_topics(group):
                for partition in known_offsets(group, topic):
                    yield (group, topic, partition, None)
            yield (group, None, -1, None)

    def delete_offsets(
        self, group_id: str, topics: Sequence[tuple[str, Sequence[int]]]
    ) -> Steps[tuple[int, PartitionErrors]]:
        """OffsetDelete (KIP-496): only of topics that no member subscribes to.

        Members may come or change after their subscriptions were read. A tombstone is appended only in a step that sees the
        membership that was read; else its offset stays, and its partition is answered GROUP_SUBSCRIBED_TO_TOPIC."""
        error_code = ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID
        error_code = error_code or self.store.check(group_id)
        group = self.store.groups.get(group_id)
        if error_code or group is None:
            return error_code or ErrorCode.GROUP_ID_NOT_FOUND, []
        if group.state != states.EMPTY and not group.uses_consumer_protocol:
            return ErrorCode.NON_EMPTY_GROUP, []
        changes, subscribed = yield from self._read_subscriptions(group, [topic for topic, _ in topics])
        errors: PartitionErrors = []
        doomed: list[Doomed] = []
        for topic, partitions in topics:
            is_subscribed = subscribed is None or topic in subscribed
            code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
            errors.append((topic, [(partition, code) for partition in partitions]))
            if not is_subscribed:
                doomed += [(group, topic, each, None) for each in partitions if has_offset(group, topic, each)]
            yield None
        kept: set[tuple[str | None, int]] = set()

        def may_go(row: Doomed) -> bool:
            if self.store.is_current(group) and group.membership_changes == changes:
                return True
            kept.add((row[1], row[2]))
            return False

        append_errors = yield from bury(self.store, doomed, may_go)
        if append_errors or not self.store.is_current(group):
            moved = self.store.check(group_id) or ErrorCode.GROUP_ID_NOT_FOUND
            return response_error(append_errors.get(group.partition, moved)), []
        refused = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        for topic, rows in errors if kept else ():
            rows[:] = [(each, refused if (topic, each) in kept else code) for each, code in rows]
        return ErrorCode.NONE, errors

    def _read_subscriptions(self, group: Group, topics: Sequence[str]) -> Steps[tuple[int, frozenset[str] | None]]:
        """(``membership_changes`` for which it holds, which of the topics are subscribed to). Reads again when members came or
        changed meanwhile; after ``SUBSCRIPTION_ATTEMPTS`` every topic counts as subscribed (None)."""
        for _ in range(SUBSCRIPTION_ATTEMPTS):
            changes = group.membership_changes
            if group.state == states.EMPTY:
                return changes, frozenset()
            subscribed = yield from subscribed_among(group, topics)
            if changes == group.membership_changes:
                return changes, subscribed
        return group.membership_changes, None

    def forget_topics(self, topics: Iterable[str]) -> Steps[None]:
        """The offsets of deleted topics go; found by each shard's index, so other offsets cost nothing. A topic that is made
        again meanwhile, under the same name, keeps what is committed for it: that has another topic id."""
        errors: dict[int, int] = {}
        for topic in topics:
            for shard in list(self.store.shards.values()):
                groups = [
                    shard.groups[group_id] for group_id in shard.by_topic.get(topic, ()) if group_id in shard.groups
                ]
                errors |= yield from bury(self.store, _offsets_of(topic, groups), _is_as_seen)
        _warn("offsets of deleted topics", errors)

    # ---- by time

    def expire(self) -> Steps[int]:
        """One pass over every group; returns how many tombstones it asked for. Groups that come meanwhile are left to the next
        pass; an offset that is committed anew, and a group that somebody joins, before their tombstone is appended, stay."""
        asked = 0
        errors: dict[int, int] = {}
        rows: list[Doomed] = []
        now_ms = self.store.clock.now_ms()

        seen: dict[str, int] = {}  # membership_changes when the group was looked at
        kept: set[str] = set()  # groups with an offset that stays

        def may_go(row: Doomed) -> bool:
            nonlocal asked
            group, topic, partition, offset = row
            may = self.store.is_current(group) and group.membership_changes == seen[group.group_id]
            if topic is None:
                is_empty = group.state == states.EMPTY and not group.pending_members and not group.pending_offsets
                may = may and is_empty and group.group_id not in kept
            elif group.offsets.get(topic, {}).get(partition) is not offset or _is_changing(group, topic, partition):
                may = False
            if not may:
                kept.add(group.group_id)
            asked += may
            return may

        for group in list(self.store.groups.values()):
            yield None
            if not self.store.is_current(group):
                continue
            seen[group.group_id] = group.membership_changes
            yield from self._expired(group, now_ms, rows)
            if len(rows) >= ROWS_A_BURIAL:
                errors |= yield from bury(self.store, rows, may_go)
                for found in (rows, seen, kept):
                    found.clear()
        errors |= yield from bury(self.store, rows, may_go)
        _warn("expired offsets", errors)
        return asked

    def _expired(self, group: Group, now_ms: int, rows: list[Doomed]) -> Steps[None]:
        """Adds to ``rows`` what has expired of one group, and the group when nothing of it is left."""
        is_idle = group.protocol_type is None or group.state == states.EMPTY
        subscribed: frozenset[str] = frozenset()
        if not is_idle:
            if group.state != states.STABLE or not group.uses_consumer_protocol or not group.offsets:
                return  # E
            found = yield from subscribed_among(group, list(group.offsets))
            if found is None:
                return  # E
            subscribed = found
        is_left = False
        number = 0
        for topic in known_topics(group):
            if topic in subscribed:
                is_left = True
                continue
            for partition in known_offsets(group, topic):
                number += 1
                if number % ITEMS == 0:
                    yield None
                offset = group.offsets.get(topic, {}).get(partition)
                if (
                    offset is None
                    or _is_changing(group, topic, partition)
                    or not self._is_expired(group, offset, now_ms)
                ):
                    is_left = True
                else:
                    rows.append((group, topic, partition, offset))
        if group.state == states.EMPTY and not group.pending_members and not is_left:
            rows.append((group, None, -1, None))

    def _is_expired(self, group: Group, offset: CommittedOffset, now_ms: int) -> bool:
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= offset.expire_timestamp_ms  # A
        base_ms = offset.commit_timestamp_ms  # C and D
        if group.protocol_type is not None and group.state == states.EMPTY and group.state_timestamp_ms != NO_TIMESTAMP:
            base_ms = group.state_timestamp_ms  # B
        return now_ms - base_ms >= self.config.offsets_retention_ms


def _offsets_of(topic: str, groups: Iterable[Group]) -> Iterator[Doomed]:
    for group in groups:
        for partition in known_offsets(group, topic):
            yield (group, topic, partition, group.offsets.get(topic, {}).get(partition))


def _is_as_seen(row: Doomed) -> bool:
    """Nothing was committed there since, but by clients that had the same topic in mind."""
    group, topic, partition, seen = row
    now = group.offsets.get(topic or "", {}).get(partition)
    return now is None or seen is None or now is seen or now.topic_id == seen.topic_id


def _is_changing(group: Group, topic: str, partition: int) -> bool:
    return partition in group.pending_offsets.get(topic, ()) or (topic, partition) in group.transactional_offsets


def _warn(what: str, errors: dict[int, int]) -> None:
    for append_error in set(errors.values()):
        logger.warning("Failed to write tombstones of %s: error %d; the next pass tries again", what, append_error)
