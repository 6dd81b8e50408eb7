"""Turns the arguments of ``scan`` (paths, offsets, times, keys) into the values that ``_core`` takes. Pure; a mistake
is a ValueError or TypeError of one sentence that names the argument, the value and the fix. Never looks at files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
"""Every column, in the order of Spark's Kafka source."""

DEFAULT_COLUMNS = COLUMNS[:-1]
"""The seven default columns of Spark's Kafka source; headers must be named."""

EVERY_PARTITION = -1
EARLIEST, LATEST = -2, -1
"""Special bounds instead of an offset, as in Kafka's ListOffsets and Spark's JSON."""

ISOLATION_LEVELS = ("read_uncommitted", "read_committed")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_OFFSET = (1 << 63) - 1

Bound = int | datetime
"""An offset (or :data:`EARLIEST`, :data:`LATEST`), or a time: the first offset whose timestamp is at least that."""

PathLike = str | os.PathLike[str]


def as_log_dirs(log_dirs: PathLike | Iterable[PathLike]) -> list[str]:
    """One path or several as text; ValueError when there is none."""
    if not isinstance(log_dirs, str | os.PathLike | Iterable):
        raise TypeError(f"log_dirs is {log_dirs!r}: give the path of a log directory, or several")
    given = [log_dirs] if isinstance(log_dirs, str | os.PathLike) else list(log_dirs)
    if not given:
        raise ValueError("log_dirs is empty: give the path of a log directory, or several")
    return [_as_path(path) for path in given]


def _as_path(path: object) -> str:
    if isinstance(path, str | os.PathLike) and isinstance(text := os.fspath(path), str):
        return text
    raise TypeError(f"log_dirs: {path!r} is no path; give a text or a pathlib.Path")


def as_timestamp_ms(name: str, moment: datetime) -> int:
    """Milliseconds since the epoch, rounded up: Kafka's timestamps are whole milliseconds, so the bounds "at least" and
    "before" still select the same records."""
    if not isinstance(moment, datetime):
        raise TypeError(f"{name} is {moment!r}: give a datetime with a time zone, as datetime(2026, 1, 31, tzinfo=UTC)")
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(f"{name} is {moment!r} and has no time zone: add one, as in tzinfo=datetime.UTC")
    return -((EPOCH - moment) // timedelta(milliseconds=1))


def as_bound(name: str, bound: Bound) -> tuple[str, int]:
    """("offset", n) or ("timestamp", ms), as ``_core.plan_scan`` takes them."""
    if isinstance(bound, datetime):
        return "timestamp", as_timestamp_ms(name, bound)
    if isinstance(bound, bool) or not hasattr(bound, "__index__"):
        raise TypeError(f"{name} is {bound!r}: give an offset (a whole number) or a datetime with a time zone")
    offset = bound.__index__()
    if not EARLIEST <= offset <= MAX_OFFSET:
        raise ValueError(f"{name} is {offset}: give an offset from 0 on, -2 for the earliest or -1 for the latest")
    return "offset", offset


def as_bounds(name: str, bound: Bound | Mapping[int, Bound] | None, default: int) -> dict[int, tuple[str, int]]:
    """Bounds by partition; :data:`EVERY_PARTITION` holds the bound of the partitions that ``bound`` does not name."""
    bounds = {EVERY_PARTITION: ("offset", default)}
    if isinstance(bound, Mapping):
        for partition, one in bound.items():
            bounds[as_partition(name, partition)] = as_bound(f"{name}[{partition}]", one)
    elif bound is not None:
        bounds[EVERY_PARTITION] = as_bound(name, bound)
    return bounds


def as_partition(name: str, partition: int) -> int:
    if isinstance(partition, bool) or not isinstance(partition, int):
        raise TypeError(f"{name}: {partition!r} is no partition; give a whole number from 0 on")
    if not 0 <= partition < 1 << 31:
        raise ValueError(f"{name}: there is no partition {partition}; partitions are numbered from 0 on")
    return partition


def as_partitions(partitions: Iterable[int] | None) -> list[int] | None:
    """The partitions, sorted and each once."""
    if partitions is None:
        return None
    if isinstance(partitions, int):
        raise TypeError(f"partitions is {partitions!r}: give a list, as [{partitions}]")
    return sorted({as_partition("partitions", one) for one in partitions})


def as_columns(columns: Sequence[str] | None) -> tuple[str, ...]:
    """The columns, checked here so that a mistake is reported before files are opened."""
    if columns is None:
        return DEFAULT_COLUMNS
    if isinstance(columns, str):
        raise TypeError(f"columns is {columns!r}: give a list, as [{columns!r}]")
    chosen = tuple(columns)
    for number, name in enumerate(chosen):
        if name not in COLUMNS:
            raise ValueError(f"columns: there is no column {name}; there are {', '.join(COLUMNS)}")
        if name in chosen[:number]:
            raise ValueError(f"columns names {name} twice; name it once")
    if not chosen:
        raise ValueError(f"columns is empty: name at least one of {', '.join(COLUMNS)}")
    return chosen


def as_keys(keys: Iterable[bytes | str | None] | None) -> list[bytes | None] | None:
    """The keys as bytes; a text is taken as UTF-8, None is the null key."""
    if keys is None:
        return None
    if isinstance(keys, bytes | bytearray | str):
        raise TypeError(f"keys is {keys!r}: give a list, as [{keys!r}]")
    return [_as_key(key) for key in keys]


def _as_key(key: bytes | str | None) -> bytes | None:
    if isinstance(key, str):
        return key.encode()
    if key is None or isinstance(key, bytes | bytearray | memoryview):
        return None if key is None else bytes(key)
    raise TypeError(f"keys: {key!r} is no key; give bytes, a text or None for the null key")


def as_topic(topic: object) -> str:
    if isinstance(topic, str) and topic:
        return topic
    raise ValueError(f"topic is {topic!r}: give the name of a topic")


def as_isolation_level(isolation_level: str) -> str:
    if isolation_level not in ISOLATION_LEVELS:
        raise ValueError(f"isolation_level is {isolation_level!r}: give {' or '.join(ISOLATION_LEVELS)}")
    return isolation_level


def as_limit(name: str, value: int) -> int:
    """A count that must be at least 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}: give a whole number from 1 on")
    if value < 1:
        raise ValueError(f"{name} is {value}: give a number from 1 on")
    return value


def as_datetime(timestamp_ms: int) -> datetime | None:
    """The moment in UTC; None for -1, Kafka's value for no timestamp, and for a timestamp beyond datetime's range."""
    if timestamp_ms < 0:
        return None
    try:
        return EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return None
