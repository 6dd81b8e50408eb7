"""Turns Spark's pushed filters into limits of a scan: ranges and sets by column, all of which must hold.

A filter is taken only when the scan then gives exactly the records that it keeps; Spark applies every other filter
itself. This module imports nothing of Spark: it recognises filters by their class names, which PySpark 4.1 to 4.3
share.

    topic, partition     sets and ranges      settled when planning
    offset               a range              narrows the planned ranges
    timestamp            a range of ms        narrows their start; the rest record by record
    key                  a set                record by record

Kafka's timestamps are whole milliseconds and Spark's literals microseconds: ``timestamp > x`` is ``ms >= floor(x) +
1``.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
MAX = 2**63 - 1
MIN = -(2**63)

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """Whole numbers from ``low`` up to and not including ``high``."""

    low: int = MIN
    high: int = MAX

    def meet(self, other: Range) -> Range:
        return Range(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Wanted:
    """The records that pushed filters keep; a set that is None keeps any value."""

    offsets: Range = Range()
    timestamps_ms: Range = Range()
    partitions: frozenset[int] | None = None
    partition_range: Range = Range()
    topics: frozenset[str] | None = None
    keys: frozenset[bytes | None] | None = None

    def has(self, topic: str, partition: int) -> bool:
        """Whether the filters can keep records of this partition."""
        return (
            (self.topics is None or topic in self.topics)
            and (self.partitions is None or partition in self.partitions)
            and self.partition_range.low <= partition < self.partition_range.high
        )


def narrow(wanted: Wanted, column: str, name: str, value: Any) -> Wanted | None:
    """``wanted`` with one more filter, whose class is ``name``; None when the scan cannot apply it exactly."""
    if name == "IsNotNull":
        return _is_not_null(wanted, column)
    if name == "IsNull":
        return _keys(wanted, [None]) if column == "key" else None
    if name == "EqualNullSafe" and value is None:
        return _keys(wanted, [None]) if column == "key" else None
    values = [item for item in value if item is not None] if name == "In" else [value]
    take = _TAKERS.get(column)
    if take is None or any(item is None for item in values):
        return None
    return take(wanted, name, values)


def _is_not_null(wanted: Wanted, column: str) -> Wanted | None:
    """Takes the filter for columns that are never null, and for keys when the wanted keys are known and not null."""
    if column in ("topic", "partition", "offset", "timestamp", "timestampType"):
        return wanted
    return wanted if column == "key" and wanted.keys is not None and None not in wanted.keys else None


def _take_topic(wanted: Wanted, name: str, values: list[Any]) -> Wanted | None:
    if name not in ("EqualTo", "EqualNullSafe", "In") or not all(isinstance(value, str) for value in values):
        return None
    return replace(wanted, topics=_meet(wanted.topics, values))


def _take_partition(wanted: Wanted, name: str, values: list[Any]) -> Wanted | None:
    if not all(map(_is_whole, values)):
        return None
    if name in ("EqualTo", "EqualNullSafe", "In"):
        return replace(wanted, partitions=_meet(wanted.partitions, values))
    found = _range_of(name, values, int)
    return None if found is None else replace(wanted, partition_range=wanted.partition_range.meet(found))


def _take_offset(wanted: Wanted, name: str, values: list[Any]) -> Wanted | None:
    if not all(map(_is_whole, values)):
        return None
    found = _range_of(name, values, int)
    return None if found is None else replace(wanted, offsets=wanted.offsets.meet(found))


def _take_timestamp(wanted: Wanted, name: str, values: list[Any]) -> Wanted | None:
    if not all(isinstance(value, dt.datetime) and value.tzinfo is not None for value in values):
        return None
    found = _range_of(name, values, _microseconds, scale=1000)
    return None if found is None else replace(wanted, timestamps_ms=wanted.timestamps_ms.meet(found))


def _take_key(wanted: Wanted, name: str, values: list[Any]) -> Wanted | None:
    if name not in ("EqualTo", "EqualNullSafe", "In"):
        return None
    if not all(isinstance(value, bytes | bytearray) for value in values):
        return None
    return _keys(wanted, [bytes(value) for value in values])


def _keys(wanted: Wanted, values: Iterable[bytes | None]) -> Wanted:
    return replace(wanted, keys=_meet(wanted.keys, values))


def _range_of(name: str, values: list[Any], number: Callable[[Any], int], scale: int = 1) -> Range | None:
    """The range of the n for which n * ``scale`` passes the filter. A list is a range only when it has one value."""
    if len(values) != 1:
        return Range(0, 0) if name == "In" and not values else None
    value = number(values[0])
    up, down = -(-value // scale), value // scale
    if name in ("EqualTo", "EqualNullSafe", "In"):
        return Range(up, down + 1)
    ranges = {
        "GreaterThan": Range(down + 1),
        "GreaterThanOrEqual": Range(up),
        "LessThan": Range(MIN, up),
        "LessThanOrEqual": Range(MIN, down + 1),
    }
    return ranges.get(name)


def _microseconds(moment: dt.datetime) -> int:
    return (moment - EPOCH) // MICROSECOND


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _meet(known: frozenset[T] | None, values: Iterable[T]) -> frozenset[T]:
    found = frozenset(values)
    return found if known is None else known & found


_TAKERS: dict[str, Callable[[Wanted, str, list[Any]], Wanted | None]] = {
    "topic": _take_topic,
    "partition": _take_partition,
    "offset": _take_offset,
    "timestamp": _take_timestamp,
    "key": _take_key,
}
