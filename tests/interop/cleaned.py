"""What a cleaning has left of a log, read by these tests' own reader, and where two such logs differ."""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields, replace
from pathlib import Path

from interop.batches import TRANSACTIONAL, Batch, parse

ABORTED = struct.Struct(">hqqqq")
PRODUCER = struct.Struct(">qhiqiqiq")
SNAPSHOT_HEAD_BYTES = 10
LEFTOVERS = (".cleaned", ".swap", ".deleted", ".tmp", ".cut")

AbortedTxn = tuple[int, int, int, int]
"""producer id, first offset, last offset, last stable offset"""


@dataclass(frozen=True)
class CleanedSegment:
    base_offset: int
    modified_ms: int
    batches: tuple[Batch, ...]
    aborted: tuple[AbortedTxn, ...]


@dataclass(frozen=True)
class CleanedLog:
    segments: tuple[CleanedSegment, ...]
    producers: dict[int, tuple[int, ...]]
    """Of the newest snapshot: producer id -> epoch, last sequence, last offset, offset delta, timestamp, first offset
    of the open transaction. Not the coordinator's epoch: a recovery of Apache Kafka forgets expired producers between
    two segments, ours at the end."""
    snapshots: tuple[int, ...]
    leftovers: tuple[str, ...]

    def without_expired(self, expiry_ms: int) -> CleanedLog:
        """Without the producers whose last batch is not younger, unless a transaction is open."""
        living = {key: entry for key, entry in self.producers.items() if entry[4] > expiry_ms or entry[5] >= 0}
        return replace(self, producers=living)

    def recovered(self) -> CleanedLog:
        """With the aborted transactions as a recovery finds them, once a cleaning has removed records of theirs: each
        begins with the first batch that is left, and goes when there is none. Of producers the epoch and the open
        transaction count: Apache Kafka has the last batch of a producer that expired between two recoveries no more,
        and a batch has another timestamp once it is cleaned."""
        left: dict[int, list[int]] = {}
        for batch in self.batches:
            if batch.flags & TRANSACTIONAL and not batch.is_control:
                left.setdefault(batch.producer_id, []).append(batch.base_offset)

        def of(transaction: AbortedTxn) -> list[AbortedTxn]:
            producer_id, first, last, _ = transaction
            offsets = [offset for offset in left.get(producer_id, ()) if first <= offset < last]
            return [(producer_id, offsets[0], last, -1)] if offsets else []

        segments = [
            replace(segment, aborted=tuple(one for each in segment.aborted for one in of(each)))
            for segment in self.segments
        ]
        producers: dict[int, tuple[int, ...]] = {key: (entry[0], entry[5]) for key, entry in self.producers.items()}
        return replace(self, segments=tuple(segments), producers=producers)

    def from_offset(self, log_start: int) -> CleanedLog:
        """Without what is below the log start offset, which no reader sees: there Apache Kafka takes the records of
        aborted transactions for committed ones, and forgets producers later."""
        segments = [
            replace(
                segment,
                batches=tuple(batch for batch in segment.batches if batch.last_offset >= log_start),
                aborted=tuple((a, max(b, log_start), c, d) for a, b, c, d in segment.aborted if c >= log_start),
            )
            for segment in self.segments
        ]
        return replace(self, segments=tuple(segments), producers={})

    @property
    def batches(self) -> list[Batch]:
        return [batch for segment in self.segments for batch in segment.batches]


def read_log(folder: Path) -> CleanedLog:
    paths = sorted(folder.glob("*.log"))
    snapshots = sorted(int(path.stem) for path in folder.glob("*.snapshot"))
    leftovers = sorted(path.name for path in folder.iterdir() if path.name.endswith(LEFTOVERS))
    return CleanedLog(
        tuple(_read_segment(path) for path in paths),
        _read_producers(folder / f"{snapshots[-1]:020}.snapshot") if snapshots else {},
        tuple(snapshots),
        tuple(leftovers),
    )


def _read_segment(path: Path) -> CleanedSegment:
    index = path.with_suffix(".txnindex")
    aborted = index.read_bytes() if index.exists() else b""
    transactions = tuple(entry[1:] for entry in ABORTED.iter_unpack(aborted))
    try:
        batches = tuple(parse(path.read_bytes()))
    except AssertionError as error:
        raise AssertionError(f"{path}: {error}") from error
    return CleanedSegment(int(path.stem), path.stat().st_mtime_ns // 1_000_000, batches, transactions)


def _read_producers(path: Path) -> dict[int, tuple[int, ...]]:
    data = path.read_bytes()[SNAPSHOT_HEAD_BYTES:]
    return {
        entry[0]: (*entry[1:6], entry[7]) for entry in PRODUCER.iter_unpack(data)
    }  # the last entry of a producer counts


def differences(expected: CleanedLog, found: CleanedLog, *, compares_segments: bool = True) -> list[str]:
    """One sentence each; the first are enough to understand the rest."""
    named = [segment.base_offset for segment in expected.segments], [segment.base_offset for segment in found.segments]
    unlike = [f"segments {named[0]} and {named[1]}"] if compares_segments and named[0] != named[1] else []
    unlike += _of_batches(expected.batches, found.batches)
    aborted = [[one for segment in log.segments for one in segment.aborted] for log in (expected, found)]
    if aborted[0] != aborted[1]:
        unlike.append(f"aborted transactions {aborted[0]} and {aborted[1]}")
    if named[0] == named[1]:
        unlike += _of_segments(expected, found)
    for producer_id in sorted(expected.producers.keys() | found.producers.keys()):
        both = expected.producers.get(producer_id), found.producers.get(producer_id)
        if both[0] != both[1]:
            unlike.append(f"producer {producer_id}: {both[0]} and {both[1]}")
    unlike += [f"left over: {name}" for log in (expected, found) for name in log.leftovers]
    return unlike


def _of_segments(expected: CleanedLog, found: CleanedLog) -> list[str]:
    unlike = []
    for one, other in zip(expected.segments[:-1], found.segments[:-1], strict=True):
        if one.modified_ms != other.modified_ms:
            unlike.append(f"segment {one.base_offset}: modified at {one.modified_ms} and {other.modified_ms}")
        if one.aborted != other.aborted:
            unlike.append(f"segment {one.base_offset}: aborted {one.aborted} and {other.aborted}")
        bases = [batch.base_offset for batch in one.batches], [batch.base_offset for batch in other.batches]
        if bases[0] != bases[1]:
            unlike.append(f"segment {one.base_offset}: batches {bases[0]} and {bases[1]}")
    return unlike


def _of_batches(expected: list[Batch], found: list[Batch]) -> list[str]:
    ours = {batch.base_offset: batch for batch in found}
    theirs = {batch.base_offset: batch for batch in expected}
    unlike = [] if len(ours) == len(found) else ["a base offset occurs twice"]
    for offset in sorted(ours.keys() | theirs.keys()):
        one, other = theirs.get(offset), ours.get(offset)
        if one is None or other is None:
            unlike.append(f"batch {offset}: {_short(one)} and {_short(other)}")
            continue
        for each in fields(Batch):
            values = getattr(one, each.name), getattr(other, each.name)
            if values[0] == values[1] or (each.name == "base_timestamp" and is_relative(one) and is_relative(other)):
                continue
            if each.name == "records":
                values = tuple(record.offset for record in one.records), tuple(r.offset for r in other.records)
                if values[0] == values[1]:
                    values = next(pair for pair in zip(one.records, other.records, strict=True) if pair[0] != pair[1])
            unlike.append(f"batch {offset}: {each.name} {values[0]} and {values[1]}")
    return unlike


def is_relative(batch: Batch) -> bool:
    """Whether the base timestamp only says what the stored timestamps count from: of a changed batch Apache Kafka takes
    the first record that stays, ours keeps the base timestamp."""
    return bool(batch.records) and batch.delete_horizon_ms is None


def _short(batch: Batch | None) -> str:
    if batch is None:
        return "nothing"
    return f"a batch to {batch.last_offset} of producer {batch.producer_id} with {batch.record_count} records"
