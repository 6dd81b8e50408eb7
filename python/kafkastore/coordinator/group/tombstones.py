"""Tombstones: how offsets and groups leave the log and the cache.

Place: ``removal`` says what goes; here it is appended in batches, and the cache follows when they are durable, in the log's order
(see ``offsets``).
Invariant: at most one batch for each partition is under way for each caller, so that a million tombstones take no more memory
than a thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.offsets import remove_offset
from kafkastore.coordinator.group.records import group_key, offset_key
from kafkastore.coordinator.group.steps import appended
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kafkastore.coordinator.group.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.offsets import CommittedOffset
    from kafkastore.coordinator.group.records import Record
    from kafkastore.coordinator.group.steps import Steps

MAX_BATCH_BYTES: Final = 128 * 1024  # of tombstones: some 2,000, which one step appends and another applies

Doomed = tuple["Group", str | None, int, "CommittedOffset | None"]
"""A topic's partition and the offset that was seen there; or the group itself (None, -1, None)."""


def bury(store: GroupStore, doomed: Iterable[Doomed], may_go: Callable[[Doomed], bool]) -> Steps[dict[int, int]]:
    """Appends tombstones in batches below ``MAX_BATCH_BYTES``, one batch under way for each partition, and applies them when they
    are durable. ``may_go`` is asked in the step in which a row's tombstone is appended. Returns {partition: last error}."""
    errors: dict[int, int] = {}
    for wave in _waves(doomed):
        yield None
        rows = {partition: [row for row in listed if may_go(row)] for partition, listed in wave.items()}
        rows = {partition: kept for partition, kept in rows.items() if kept}
        if not rows:
            continue
        appends = [(partition, [_tombstone(row) for row in kept]) for partition, kept in rows.items()]
        results = yield from appended(appends)
        for (partition, kept), result in zip(rows.items(), results, strict=True):
            if result.error_code:
                errors[partition] = result.error_code
            else:
                _apply_tombstones(store, kept, result.base_offset)
    return errors


def _waves(doomed: Iterable[Doomed]) -> Iterator[dict[int, list[Doomed]]]:
    """Rows by partition, as many as ``MAX_BATCH_BYTES`` hold together."""
    wave: dict[int, list[Doomed]] = {}
    size = 0
    for row in doomed:
        wave.setdefault(row[0].partition, []).append(row)
        size += len(row[0].group_id) + len(row[1] or "") + 32
        if size >= MAX_BATCH_BYTES:
            yield wave
            wave, size = {}, 0
    if wave:
        yield wave


def _tombstone(row: Doomed) -> Record:
    group, topic, partition, _ = row
    return (group_key(group.group_id) if topic is None else offset_key(group.group_id, topic, partition)), None


def _apply_tombstones(store: GroupStore, rows: Sequence[Doomed], base_offset: int) -> None:
    """A group that somebody joined or committed to while its tombstone was being written stays: its newer records are behind the
    tombstone in the log."""
    for index, (group, topic, partition, _) in enumerate(rows):
        if topic is not None:
            remove_offset(group, topic, partition, base_offset + index)
        elif (
            store.is_current(group)
            and group.state == states.EMPTY
            and not group.has_offsets
            and not group.pending_members
        ):
            store.remove(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)
