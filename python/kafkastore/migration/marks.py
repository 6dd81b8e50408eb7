"""Which offset of the target is which one of the source: runs of records without a gap on either side. No I/O.

A run says that ``length`` records from ``source`` on are those from ``target`` on. A new one begins with each
transaction of the mirror, whose marker has an offset of its own in the target, and where the source has a gap: a
marker, aborted records, compacted ones. The translation of an offset is that of the first record from it on; where runs
were dropped because there were too many it is one that is earlier, never a later one.

    a record of the marks' topic, written in the transaction of the records that it is about:
        key    ["topic", partition, source of the first run]
        value  [target of the first run, length, (gap in the source, gap in the target, length)*]
    and a base, which begins a partition: a run of no records
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_RUNS: Final = 50_000
"""In memory, of a partition (1.2 MB); beyond it every second one of the older half is dropped."""
ROW: Final = 3


class Run(NamedTuple):
    source: int
    target: int
    length: int


class Marks:
    """Of one partition, in the order of the source."""

    def __init__(self) -> None:
        self._sources, self._targets, self._lengths = array("q"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self._sources)

    def add(self, run: Run) -> None:
        """One that is behind all others, or the base of a partition once more."""
        if self._sources and self._sources[-1] == run.source and self._lengths[-1] == 0:
            self._drop_last()
        elif self._sources and self._is_next(run):
            self._lengths[-1] += run.length
            return
        self._sources.append(run.source)
        self._targets.append(run.target)
        self._lengths.append(run.length)
        if len(self) > MOST_RUNS:
            self._thin()

    def translated(self, offset: int) -> int | None:
        """The offset in the target of the first record from this offset of the source on, as far as it is mirrored; of
        a partition without marks there is none."""
        if not self._sources:
            return None
        at = max(bisect_right(self._sources, offset) - 1, 0)
        return self._targets[at] + min(max(offset - self._sources[at], 0), self._lengths[at])

    def tail(self, count: int) -> Run | None:
        """Where the last ``count`` records begin, or where all do that there are; the length is theirs."""
        found = None
        for at in range(len(self) - 1, -1, -1):
            seen = self._lengths[at] + (found.length if found else 0)
            found = Run(self._sources[at], self._targets[at], seen)
            if seen >= count:
                skipped = seen - count
                return Run(found.source + skipped, found.target + skipped, count)
        return found

    @property
    def position(self) -> int:
        """The offset in the source behind the last record."""
        return self._sources[-1] + self._lengths[-1]

    @property
    def end(self) -> int | None:
        """The offset in the target behind the last record."""
        return self._targets[-1] + self._lengths[-1] if self._sources else None

    @property
    def records(self) -> int:
        """How many were mirrored; less where runs were dropped."""
        return sum(self._lengths)

    def _is_next(self, run: Run) -> bool:
        count = self._lengths[-1]
        return run.source == self._sources[-1] + count and run.target == self._targets[-1] + count

    def _drop_last(self) -> None:
        for column in (self._sources, self._targets, self._lengths):
            column.pop()

    def _thin(self) -> None:
        half = len(self) // 2
        self._sources, self._targets, self._lengths = (
            column[:half:2] + column[half:] for column in (self._sources, self._targets, self._lengths)
        )


def runs_of(sources: Iterable[tuple[int, int]], targets: Iterable[tuple[int, int]]) -> list[Run]:
    """The runs of records that were read as ``sources`` and written as ``targets``, both (first offset, count) in
    order. Raises ValueError when they are not the same number."""
    runs: list[Run] = []
    written = iter(targets)
    target, left = 0, 0
    for first, count in sources:
        source, unread = first, count
        while unread:
            if not left:
                target, left = next(written, (0, 0))
                if not left:
                    raise ValueError("fewer records were written than read")
            taken = min(unread, left)
            last = runs[-1] if runs else None
            if last and (last.source + last.length, last.target + last.length) == (source, target):
                runs[-1] = last._replace(length=last.length + taken)
            else:
                runs.append(Run(source, target, taken))
            source, target, unread, left = source + taken, target + taken, unread - taken, left - taken
    if left or next(written, None) is not None:
        raise ValueError("more records were written than read")
    return runs


def encoded(topic: str, partition: int, runs: Sequence[Run]) -> tuple[bytes, bytes]:
    """Key and value of a record of the marks' topic."""
    first = runs[0]
    numbers = [first.target, first.length]
    for before, run in pairwise(runs):
        numbers += [
            run.source - before.source - before.length, run.target - before.target - before.length, run.length
        ]  # fmt: skip
    key = json.dumps([topic, partition, first.source], ensure_ascii=False, separators=(",", ":"))
    return key.encode(), json.dumps(numbers, separators=(",", ":")).encode()


def decoded(key: bytes, value: bytes) -> tuple[tuple[str, int], list[Run]]:
    """The partition and the runs. Raises ValueError for what is no mark."""
    try:
        topic, partition, source = json.loads(key)
        target, count, *rest = json.loads(value)
    except (TypeError, ValueError):
        raise ValueError(f"{key!r} is no mark of a migration") from None
    runs = [Run(source, target, count)]
    for at in range(0, len(rest), ROW):
        gap, target_gap, count = rest[at : at + ROW]
        last = runs[-1]
        runs.append(Run(last.source + last.length + gap, last.target + last.length + target_gap, count))
    return (topic, partition), runs
