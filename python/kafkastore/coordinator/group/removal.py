"""Removes groups and offsets: groups and offsets that clients delete, offsets and groups that expire, and offsets of
deleted topics.

Each removal appends tombstones in batches, at most one batch under way for each group, so that a million tombstones
take no more memory than a thousand. This module decides which groups and offsets are removed; the data plane finds the
offsets, appends their tombstones, and removes the offsets when the tombstones are durable. A group is removed when its
own tombstone is durable. A group that got a member or a commit meanwhile stays: its newer records are behind the
tombstone in the log.

Expiry (KIP-211), per offset, base time + retention:

- A  the client gave a retention time (old versions): at that time.
- B  the group is Empty and had members: since it became Empty; with records of old Kafka versions since the commit.
- C  a simple group (it never had members): since the commit.
- D  a Stable consumer group: topics that no member subscribes to, since the commit.
- E  any other: never. Nor an offset of a subscribed topic, nor one with a commit under way or in
  an open transaction.

Walks are in steps (see ``steps``); the condition of a removal is checked in the step that appends its tombstone.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from kafkastore.coordinator.group.group_store import StoredGroup
from kafkastore.coordinator.group.offsets_log import OffsetDeletion, OffsetExpiration, TopicOffsetDeletion
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.coordinator.runtime.log_lines import some
from kafkastore.coordinator.runtime.steps import ITEMS, LONG_ID, appended
from kafkastore.errors import ErrorCode, error_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets_log import GroupLease, Removal
    from kafkastore.coordinator.runtime.internal_log import AppendDone
    from kafkastore.coordinator.runtime.steps import BatchAppendResult, Steps

logger = logging.getLogger("kafkastore.coordinator.group")

SUBSCRIPTION_ATTEMPTS: Final = 3
WAVE_LETTERS: Final = 64 * 1024
"""The letters of the ids of groups that are deleted together, above which a wave ends; with one more id of the longest
kind 300 KB at most."""

PartitionErrors = list[tuple[str, list[tuple[int, int]]]]  # [(topic, [(partition, error code)])] in the order asked


class RemovableGroup(StoredGroup, Protocol):
    """The interface of a group of any kind that its removal needs."""

    @property
    def lease(self) -> GroupLease: ...

    @property
    def membership_changes(self) -> int:
        """Rises whenever a member joins, leaves or changes its metadata."""

    @property
    def is_empty(self) -> bool:
        """Whether the group has no member."""

    @property
    def is_unused(self) -> bool:
        """Whether the group has no member and no pending member (an id that was handed out)."""

    @property
    def knows_subscriptions(self) -> bool:
        """Whether the topics that its members subscribe to are known."""

    @property
    def is_settled(self) -> bool:
        """Whether the group's offsets may expire (not case E)."""

    @property
    def empty_since_ms(self) -> int | None:
        """The base time of case B; None where the time of each commit is the base time."""

    def subscribed_among(self, topics: Collection[str]) -> Steps[frozenset[str] | None]:
        """Returns which of ``topics`` the members subscribe to; None when a member's metadata is no subscription. Reads
        the members as they are at the call."""

    def record_keys(self) -> list[bytes]:
        """Keys of the group's own records."""


class Remover:
    __slots__ = ("config", "store")

    def __init__(self, config: GroupConfig, store: GroupStore[Any]) -> None:
        """``store``: its groups must be a :class:`RemovableGroup`."""
        self.config = config
        self.store = store

    # ---- asked for

    def delete_groups(self, group_ids: Iterable[str]) -> Steps[dict[str, int]]:
        """DeleteGroups: {group id: error code}, each id once.

        A group that gets a member before its last tombstone is appended is answered NON_EMPTY_GROUP and stays, maybe
        without offsets that were deleted before the member came. A group that moves to another broker meanwhile is
        answered the error of ``GroupStore.check``."""
        results: dict[str, int] = {}
        waiting: list[RemovableGroup] = []
        for number, group_id in enumerate(dict.fromkeys(group_ids), 1):
            error_code = results[group_id] = self._check_deletion(group_id)
            if not error_code:
                waiting.append(self.store.groups[group_id])
            if number % ITEMS == 0 or len(group_id) > LONG_ID:
                yield None
        if waiting:
            logger.info("Deleting groups %s", some(group.group_id for group in waiting))
        for wave in _waves(waiting):
            results |= yield from self._delete(wave)
        return results

    def _check_deletion(self, group_id: str) -> int:
        error_code = self.store.check(group_id)
        if error_code:
            return error_code
        group = self.store.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.is_empty else ErrorCode.NON_EMPTY_GROUP

    def _refusal(self, group: RemovableGroup) -> int:
        """Returns the error code when the group can no longer be deleted: GROUP_ID_NOT_FOUND also when its id has a new
        group, which the client did not ask to delete."""
        error_code = self._check_deletion(group.group_id)
        return error_code or (ErrorCode.NONE if self.store.is_current(group) else ErrorCode.GROUP_ID_NOT_FOUND)

    def _delete(self, groups: Sequence[RemovableGroup]) -> Steps[dict[str, int]]:
        """Deletes the offsets first, then the groups, one batch at a time."""
        results: dict[str, int] = {}
        left = list(groups)
        bare: list[RemovableGroup] = []  # groups without offsets, or whose offsets have tombstones
        while left or bare:
            begun = []
            for group in left:
                error_code = self._refusal(group)
                removed = None
                if not error_code:
                    removed = self.store.log.remove(group.partition, OffsetDeletion(group.group_id, None))
                    error_code = removed.error_code
                if error_code:
                    results[group.group_id] = error_code
                elif removed is not None and removed.append is not None:
                    begun.append((group, removed.append, removed.has_more))
                else:
                    bare.append(group)
            batches = self._tombstones(bare, self._refusal, results)
            # all appends in one yield: the end of an append that this step began is reported only if awaited here
            ended = yield from appended([append for _, append, _ in begun] + [append for _, append in batches])
            left, bare = [], []
            for (group, _, has_more), result in zip(begun, ended[: len(begun)], strict=True):
                if result.error_code:
                    results[group.group_id] = response_error(result.error_code)
                else:  # offsets that are committed from now on stay
                    (left if has_more else bare).append(group)
            for (buried, _), result in zip(batches, ended[len(begun) :], strict=True):
                self._forget(buried, result, results)
        return results

    def _tombstones(
        self, groups: Iterable[RemovableGroup], refuse: Callable[[RemovableGroup], int], results: dict[str, int]
    ) -> list[tuple[list[RemovableGroup], Callable[[AppendDone], None]]]:
        """The tombstones of groups to delete, a batch for each partition; ``refuse`` is called in the step that appends
        them, and groups for which it gives an error are left out."""
        by_partition: dict[int, list[RemovableGroup]] = {}
        for group in groups:
            results[group.group_id] = refuse(group)
            if not results[group.group_id]:
                by_partition.setdefault(group.partition, []).append(group)
        return [
            (
                buried,
                partial(
                    self.store.log.append, number, [(key, None) for group in buried for key in group.record_keys()]
                ),
            )
            for number, buried in by_partition.items()
        ]

    def _forget(self, buried: Iterable[RemovableGroup], result: BatchAppendResult, results: dict[str, int]) -> None:
        """Removes groups whose tombstones were appended, if they still have no member. The data plane reports a group
        that has an offset by then as a new group."""
        for group in buried:
            results[group.group_id] = response_error(result.error_code)
            if not result.error_code and self.store.is_current(group) and group.is_unused:
                self.store.remove(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    def _bury(self, group: RemovableGroup) -> Steps[int]:
        """Appends the tombstone of a group that has expired, and removes the group. Returns the error code."""
        results: dict[str, int] = {}
        ((buried, append),) = self._tombstones([group], lambda _: ErrorCode.NONE, results)
        (result,) = yield from appended([append])
        self._forget(buried, result, results)
        return results[group.group_id]

    def delete_offsets(
        self, group_id: str, topics: Sequence[tuple[str, Sequence[int]]]
    ) -> Steps[tuple[int, PartitionErrors]]:
        """OffsetDelete (KIP-496): only of topics that no member subscribes to.

        When members come or change after their subscriptions were read, the subscriptions are read again. Offsets that
        are left of topics with a subscriber by then stay, and are answered GROUP_SUBSCRIBED_TO_TOPIC."""
        error_code = ErrorCode.NONE if group_id else ErrorCode.INVALID_GROUP_ID
        error_code = error_code or self.store.check(group_id)
        group = self.store.groups.get(group_id)
        if error_code or group is None:
            return error_code or ErrorCode.GROUP_ID_NOT_FOUND, []
        if not group.knows_subscriptions:
            return ErrorCode.NON_EMPTY_GROUP, []
        names = [topic for topic, _ in topics]
        changes, subscribed = yield from self._read_subscriptions(group, names)
        while True:
            if not self.store.is_current(group):
                return self.store.check(group_id) or ErrorCode.GROUP_ID_NOT_FOUND, []
            if changes != group.membership_changes:
                changes, subscribed = yield from self._read_subscriptions(group, names)
                continue
            going = [row for row in topics if subscribed is not None and row[0] not in subscribed]
            removed = self.store.log.remove(group.partition, OffsetDeletion(group_id, going))
            if removed.error_code:
                return removed.error_code, []
            if removed.append is None:
                break
            (result,) = yield from appended([removed.append])
            if result.error_code:
                return response_error(result.error_code), []
            if not removed.has_more:
                break
        kept = {topic for topic, _ in topics} - {topic for topic, _ in going}
        refused = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return ErrorCode.NONE, [
            (topic, [(each, refused if topic in kept else ErrorCode.NONE) for each in partitions])
            for topic, partitions in topics
        ]

    def _read_subscriptions(
        self, group: RemovableGroup, topics: Sequence[str]
    ) -> Steps[tuple[int, frozenset[str] | None]]:
        """Returns (``membership_changes`` at the reading, the topics that members subscribe to). Reads again when
        members came or changed meanwhile; after ``SUBSCRIPTION_ATTEMPTS`` every topic counts as subscribed (None)."""
        for _ in range(SUBSCRIPTION_ATTEMPTS):
            changes = group.membership_changes
            if group.is_empty:
                return changes, frozenset()
            subscribed = yield from group.subscribed_among(topics)
            if changes == group.membership_changes:
                return changes, subscribed
        return group.membership_changes, None

    def forget_topics(self, topics: Iterable[str]) -> Steps[None]:
        """Removes the offsets of deleted topics. Offsets of a new topic of the same name stay: they have another topic
        id."""
        for topic in topics:
            for number in list(self.store.shards):
                yield None
                error_code = yield from self._remove_all(number, TopicOffsetDeletion(topic))
                _warn("offsets of deleted topics", error_code)

    def _remove_all(self, number: int, removal: Removal) -> Steps[int]:
        """Removes batch by batch. Returns the error code that ended the removal."""
        while True:
            removed = self.store.log.remove(number, removal)
            if removed.append is None:
                return removed.error_code
            (result,) = yield from appended([removed.append])
            if result.error_code or not removed.has_more:
                return response_error(result.error_code)

    # ---- by time

    def expire(self) -> Steps[None]:
        """One pass over every group. Groups that are created meanwhile are left to the next pass. An offset that is
        committed anew, and a group that gets a member, before the tombstone is appended, stay."""
        now_ms = self.store.clock.now_ms()
        for number, group in enumerate(list(self.store.groups.values())):
            if number % ITEMS == 0:
                yield None
            if self.store.is_current(group):
                yield from self._expire(group, now_ms)

    def _expire(self, group: RemovableGroup, now_ms: int) -> Steps[None]:
        while True:
            changes = group.membership_changes
            subscribed: frozenset[str] = frozenset()
            if not group.is_settled:
                return  # E
            if not group.is_empty:
                found = yield from group.subscribed_among(group.lease.offset_topics())
                if found is None:
                    return  # E
                subscribed = found
                if changes != group.membership_changes or not self.store.is_current(group):
                    return  # the next pass looks again
            removed = self.store.log.remove(
                group.partition,
                OffsetExpiration(
                    group.group_id, subscribed, now_ms, self.config.offsets_retention_ms, group.empty_since_ms
                ),
            )
            if removed.error_code:
                return
            if removed.append is None:
                break
            (result,) = yield from appended([removed.append])
            if result.error_code or not self.store.is_current(group):
                _warn("expired offsets", response_error(result.error_code))
                return
            if not removed.has_more:
                break
        if not removed.is_kept and self._may_expire(group):
            error_code = yield from self._bury(group)
            _warn("expired groups", error_code)

    def _may_expire(self, group: RemovableGroup) -> bool:
        return group.is_unused and not group.lease.has_offsets()


def _waves(groups: Iterable[RemovableGroup]) -> Iterator[list[RemovableGroup]]:
    """Splits groups into waves: at most as many as one step checks, and whose ids fit one batch."""
    wave: list[RemovableGroup] = []
    size = 0
    for group in groups:
        wave.append(group)
        size += len(group.group_id)
        if len(wave) == ITEMS or size >= WAVE_LETTERS:
            yield wave
            wave, size = [], 0
    if wave:
        yield wave


def _warn(what: str, error_code: int) -> None:
    if error_code:
        logger.warning("Failed to write tombstones of %s: %s; the next pass tries again", what, error_name(error_code))
