"""What goes away: groups that are deleted, offsets and groups that expire, offsets of topics that were deleted.

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
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.offsets import known_offsets, offset_tombstone, remove_offset
from kafkastore.coordinator.group.offsets_log import response_error
from kafkastore.coordinator.group.records import NO_TIMESTAMP, group_key
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets import CommittedOffset
    from kafkastore.coordinator.group.records import Record

logger = logging.getLogger("kafkastore.coordinator.group")

MAX_BATCH_BYTES: Final = 512 * 1024  # of tombstones, under the smallest usual max.message.bytes

Doomed = tuple["Group", str | None, int]  # a topic's partition, or the group itself (None, -1)


class Remover:
    __slots__ = ("config", "store")

    def __init__(self, config: GroupConfig, store: GroupStore) -> None:
        self.config = config
        self.store = store

    # ---- asked for

    def delete_groups(self, group_ids: Iterable[str], respond: Callable[[dict[str, int]], None]) -> None:
        """DeleteGroups: {group id: error code}, each id once."""
        results: dict[str, int] = {group_id: self._check_deletion(group_id) for group_id in group_ids}
        waiting: dict[int, list[Group]] = {}
        for group_id, error_code in results.items():
            if not error_code:
                group = self.store.groups[group_id]
                waiting.setdefault(group.partition, []).append(group)
        remaining = len(waiting)
        if not remaining:
            respond(results)

        def finish(groups: list[Group], append_error: int) -> None:
            nonlocal remaining
            for group in groups:
                results[group.group_id] = response_error(append_error)
            remaining -= 1
            if not remaining:
                respond(results)

        for partition, groups in waiting.items():
            logger.info("Deleting groups %s", ", ".join(group.group_id for group in groups))
            doomed: list[Doomed] = []
            for group in groups:
                doomed += [(group, topic, index) for topic, index in known_offsets(group)]
                doomed.append((group, None, -1))
            self._bury(partition, doomed, partial(finish, groups))

    def _check_deletion(self, group_id: str) -> int:
        error_code = self.store.check(group_id)
        if error_code:
            return error_code
        group = self.store.groups.get(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if group.state == states.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def forget_topics(self, topics: Iterable[str]) -> None:
        """The offsets of deleted topics go."""
        names = frozenset(topics)
        doomed: dict[int, list[Doomed]] = {}
        for group in self.store.groups.values():
            for topic, index in known_offsets(group):
                if topic in names:
                    doomed.setdefault(group.partition, []).append((group, topic, index))
        for partition, rows in doomed.items():
            self._bury(partition, rows, lambda code: _warn("offsets of deleted topics", code))

    # ---- by time

    def expire(self) -> int:
        """One pass over every group; returns how many tombstones it asked for."""
        doomed: dict[int, list[Doomed]] = {}
        now_ms = self.store.clock.now_ms()
        for group in self.store.groups.values():
            expired = self._expired_offsets(group, now_ms)
            rows: list[Doomed] = [(group, topic, index) for topic, index in expired]
            if group.state == states.EMPTY and not group.pending_members and len(expired) == len(known_offsets(group)):
                rows.append((group, None, -1))
            if rows:
                doomed.setdefault(group.partition, []).extend(rows)
        for partition, rows in doomed.items():
            self._bury(partition, rows, lambda code: _warn("expired offsets", code))
        return sum(map(len, doomed.values()))

    def _expired_offsets(self, group: Group, now_ms: int) -> list[tuple[str, int]]:
        is_idle = group.protocol_type is None or group.state == states.EMPTY
        knows_topics = group.uses_consumer_protocol and group.subscribed_topics is not None
        if not is_idle and not (group.state == states.STABLE and knows_topics):
            return []  # E
        expired = []
        for topic, partitions in group.offsets.items():
            if group.is_subscribed_to(topic):
                continue
            for partition, offset in partitions.items():
                key = (topic, partition)
                is_changing = key in group.pending_offsets or key in group.transactional_offsets
                if not is_changing and self._is_expired(group, offset, now_ms):
                    expired.append(key)
        return expired

    def _is_expired(self, group: Group, offset: CommittedOffset, now_ms: int) -> bool:
        if offset.expire_timestamp_ms != NO_TIMESTAMP:
            return now_ms >= offset.expire_timestamp_ms  # A
        base_ms = offset.commit_timestamp_ms  # C and D
        if group.protocol_type is not None and group.state == states.EMPTY and group.state_timestamp_ms != NO_TIMESTAMP:
            base_ms = group.state_timestamp_ms  # B
        return now_ms - base_ms >= self.config.offsets_retention_ms

    # ---- tombstones

    def _bury(self, partition: int, doomed: Sequence[Doomed], respond: Callable[[int], None]) -> None:
        """Appends tombstones in as many batches as they need; answers once, with the last error if there was one."""
        chunks = _chunks(doomed)
        outstanding = len(chunks)
        error_code: int = ErrorCode.NONE

        def done(rows: list[Doomed], append_error: int, base_offset: int) -> None:
            nonlocal outstanding, error_code
            if append_error:
                error_code = append_error
            else:
                self._apply(rows, base_offset)
            outstanding -= 1
            if not outstanding:
                respond(error_code)

        for rows, records in chunks:
            self.store.log.append(partition, records, partial(done, rows))

    def _apply(self, rows: list[Doomed], base_offset: int) -> None:
        for index, (group, topic, partition) in enumerate(rows):
            if topic is not None:
                remove_offset(group, topic, partition, base_offset + index)
            elif (
                self.store.is_current(group)
                and group.state == states.EMPTY
                and not group.has_offsets
                and not group.pending_members
            ):
                self.store.remove(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def _chunks(doomed: Sequence[Doomed]) -> list[tuple[list[Doomed], list[Record]]]:
    chunks: list[tuple[list[Doomed], list[Record]]] = []
    rows: list[Doomed] = []
    records: list[Record] = []
    size = 0
    for each in doomed:
        group, topic, partition = each
        record = (group_key(group.group_id), None) if topic is None else offset_tombstone(group, topic, partition)
        size += len(record[0]) + 16
        rows.append(each)
        records.append(record)
        if size >= MAX_BATCH_BYTES:
            chunks.append((rows, records))
            rows, records, size = [], [], 0
    if rows:
        chunks.append((rows, records))
    return chunks


def _warn(what: str, append_error: int) -> None:
    if append_error:
        logger.warning("Failed to write tombstones of %s: error %d; the next pass tries again", what, append_error)
