"""The options of a read: names, values and meanings of Spark's Kafka source for a batch query, and ours beside them.

Parses text into one immutable :class:`ReadOptions`. Every mistake is a ``ValueError`` of one sentence that names the
option, its value and the fix. This module looks at no file and does not know which topics exist.

Names are matched without regard to case. Of the options that say where a range begins (or ends) only the first that is
given counts, in Spark's order:

    a. ``startingTimestamp``            one time for every partition, ms since the epoch
    b. ``startingOffsetsByTimestamp``   JSON, a time for each partition
    c. ``startingOffsets``              ``earliest``, ``latest`` or JSON, an offset for each (-2 earliest, -1 latest)

Source: Spark's "Structured Streaming + Kafka Integration Guide"; spec R5.3.
"""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EARLIEST = -2
LATEST = -1
DEFAULT_SPLIT_BYTES = 512 << 20
"""Shares are large because a Python task costs Spark about 0.07 s whatever it reads, the time that 100 MB take to cross
to the JVM."""

STRATEGIES = ("subscribe", "subscribePattern", "assign")
RANGES = (
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsets",
    "startingOffsetsByTimestampStrategy",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "endingOffsets",
)
OWN = ("path", "splitBytes", "checkCrcs", "linkDir", "pushFilters")
OTHERS = ("includeHeaders", "failOnDataLoss", "minPartitions", "kafka.isolation.level", "kafka.bootstrap.servers")
KNOWN = {name.lower(): name for name in (*STRATEGIES, *RANGES, *OWN, *OTHERS)}
NOT_FOR_FILES = {
    "fetchoffset.numretries",
    "fetchoffset.retryintervalms",
    "groupidprefix",
    "kafkaconsumer.polltimeoutms",
    "maxoffsetspertrigger",
    "maxrecordsperpartition",
    "maxtriggerdelay",
    "minoffsetspertrigger",
}
"""Options of Spark's Kafka source that a batch over files has no use for: accepted, and ignored with a warning."""
REFUSED = {
    "kafka.auto.offset.reset": "set startingOffsets instead",
    "kafka.key.deserializer": "keys are given as binary; convert the column",
    "kafka.value.deserializer": "values are given as binary; convert the column",
    "kafka.enable.auto.commit": "a batch commits nothing; leave it out",
    "kafka.interceptor.classes": "no consumer is in the way; leave it out",
}
"""Consumer configs that Spark's Kafka source refuses too, each with the fix."""

_LOG = logging.getLogger("kafkastore.spark")


@dataclass(frozen=True)
class Bound:
    """Where a range begins or ends. ``kind`` is "offset" or "timestamp" (ms). ``everywhere`` is the bound of every
    partition; when it is None, ``places`` has topic -> partition -> bound."""

    option: str
    kind: str
    everywhere: int | None = None
    places: Mapping[str, Mapping[int, int]] = field(default_factory=dict)

    def of(self, topic: str, partition: int) -> tuple[str, int]:
        """The bound of a partition, as ``plan_scan`` takes it. Raises KeyError when ``places`` does not name it."""
        return self.kind, self.places[topic][partition] if self.everywhere is None else self.everywhere


@dataclass(frozen=True)
class ReadOptions:
    """The parsed options of a read. Exactly one of ``topics``, ``pattern`` and ``assigned`` is not None."""

    log_dirs: tuple[str, ...]
    start: Bound
    end: Bound
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    assigned: Mapping[str, tuple[int, ...]] | None = None
    start_at_latest_when_no_time_matches: bool = False
    isolation_level: str = "read_uncommitted"
    bootstrap_servers: str | None = None
    fail_on_data_loss: bool = True
    include_headers: bool = False
    min_shares: int | None = None
    split_bytes: int = DEFAULT_SPLIT_BYTES
    check_crcs: bool = True
    link_dir: str | None = None
    push_filters: bool = False


def parse(options: Mapping[str, str]) -> ReadOptions:
    """Parses the options of ``DataFrameReader.option``. Raises ValueError of one sentence for an option that is missing
    or wrong."""
    given = {name.lower(): str(value).strip() for name, value in options.items()}
    for name, fix in REFUSED.items():
        if name in given:
            raise ValueError(f"{name}: {given[name]} is not supported here; {fix}")
    _warn_of_ignored(options, given)
    topics, pattern, assigned = _what(given)
    start, end = _range(given)
    link_dir = given.get("linkdir")
    isolation_level = given.get("kafka.isolation.level", "read_uncommitted").lower()
    if isolation_level not in ("read_uncommitted", "read_committed"):
        raise ValueError(f"kafka.isolation.level: {isolation_level!r} is none; say read_uncommitted or read_committed")
    return ReadOptions(
        log_dirs=_log_dirs(given),
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        start=start,
        end=end,
        start_at_latest_when_no_time_matches=_strategy(given),
        isolation_level=isolation_level,
        bootstrap_servers=given.get("kafka.bootstrap.servers") or None,
        fail_on_data_loss=_flag(given, "failOnDataLoss", default=True),
        include_headers=_flag(given, "includeHeaders", default=False),
        min_shares=_positive(given, "minPartitions"),
        split_bytes=_positive(given, "splitBytes") or DEFAULT_SPLIT_BYTES,
        check_crcs=_flag(given, "checkCrcs", default=True),
        link_dir=link_dir or None,
        push_filters=_flag(given, "pushFilters", default=False),
    )


def _warn_of_ignored(options: Mapping[str, str], given: Mapping[str, str]) -> None:
    for name in options:
        if name.lower() in NOT_FOR_FILES:
            _LOG.warning("option %s is ignored: it means nothing to a batch read of segment files", name)
        elif name.lower() not in KNOWN and not name.lower().startswith("kafka."):
            _LOG.warning("option %s is ignored: there is none of this name (%s)", name, ", ".join(KNOWN.values()))
    if "kafka.group.id" in given:
        _LOG.warning("option kafka.group.id is ignored: nothing is consumed through a group")


def _log_dirs(given: Mapping[str, str]) -> tuple[str, ...]:
    found = tuple(part.strip() for part in given.get("path", "").split(",") if part.strip())
    if not found:
        raise ValueError("path: missing; name the log directories (the broker's log.dirs), comma separated")
    return tuple(part.removeprefix("file://") for part in found)


def _what(
    given: Mapping[str, str],
) -> tuple[tuple[str, ...] | None, str | None, Mapping[str, tuple[int, ...]] | None]:
    """(topics, pattern, partitions by topic); exactly one of the three is not None."""
    chosen = [name for name in STRATEGIES if name.lower() in given]
    if len(chosen) != 1:
        said = "none is given" if not chosen else f"{' and '.join(chosen)} are given"
        raise ValueError(f"subscribe, subscribePattern, assign: {said}; give exactly one")
    name = chosen[0]
    value = given[name.lower()]
    if name == "subscribe":
        topics = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
        if not topics:
            raise ValueError(f"subscribe: {value!r} names no topic; give their names, comma separated")
        return topics, None, None
    if name == "subscribePattern":
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"subscribePattern: {value!r} is no regular expression ({error}); correct it") from None
        if not value:
            raise ValueError("subscribePattern: '' matches no topic; give a regular expression for whole names")
        return None, value, None
    return None, None, _assigned(value)


def _assigned(value: str) -> dict[str, tuple[int, ...]]:
    try:
        found = json.loads(value)
        checked = {topic: tuple(map(_whole, partitions)) for topic, partitions in found.items()}
    except (ValueError, AttributeError, TypeError):
        raise ValueError(f'assign: {value!r} is not like {{"topicA":[0,1],"topicB":[2]}}; write it so') from None
    if not any(checked.values()):
        raise ValueError(f'assign: {value!r} names no partition; write it like {{"topicA":[0,1]}}')
    return {topic: tuple(sorted(set(partitions))) for topic, partitions in checked.items() if partitions}


def _range(given: Mapping[str, str]) -> tuple[Bound, Bound]:
    start = _bound(given, "starting", EARLIEST)
    end = _bound(given, "ending", LATEST)
    for bound, forbidden, word, fix in (
        (start, LATEST, "the latest", "a batch begins at the earliest or at an offset"),
        (end, EARLIEST, "the earliest", "a batch ends at the latest or at an offset"),
    ):
        if bound.kind != "offset":
            continue
        if bound.everywhere == forbidden:
            raise ValueError(f"{bound.option}: {word} makes no batch; {fix}")
        for topic, offsets in bound.places.items():
            for partition, offset in offsets.items():
                if offset == forbidden:
                    raise ValueError(f"{bound.option}: {offset} ({word}) for {topic}-{partition}; {fix}")
    if start.kind == end.kind:
        _refuse_reversed(start, end)
    return start, end


def _refuse_reversed(start: Bound, end: Bound) -> None:
    """Raises ValueError when ``start``, of the same kind as ``end``, lies behind it; the earliest and the latest are
    negative and are never refused."""
    if start.everywhere is not None and end.everywhere is not None and start.everywhere > end.everywhere >= 0:
        raise ValueError(f"{start.option}: {start.everywhere} is behind {end.everywhere} of {end.option}; swap them")
    for topic, begins in start.places.items():
        for partition, begin in begins.items():
            last = end.places.get(topic, {}).get(partition, LATEST)
            if begin > last >= 0:
                raise ValueError(
                    f"{start.option}: {begin} for {topic}-{partition} is behind {last} of {end.option}; swap them"
                )


def _bound(given: Mapping[str, str], prefix: str, default: int) -> Bound:
    option = f"{prefix}Timestamp"
    if (value := given.get(option.lower())) is not None:
        try:
            return Bound(option, "timestamp", _whole(int(value)))
        except ValueError:
            raise ValueError(f"{option}: {value!r} is no time; give milliseconds since the epoch") from None
    option = f"{prefix}OffsetsByTimestamp"
    if (value := given.get(option.lower())) is not None:
        return Bound(option, "timestamp", None, _places(option, value, '{"topicA":{"0":1790000000000}}', 0))
    option = f"{prefix}Offsets"
    value = given.get(option.lower())
    if value is None:
        return Bound(option, "offset", default)
    words = {"earliest": EARLIEST, "latest": LATEST}
    if value.lower() in words:
        return Bound(option, "offset", words[value.lower()])
    return Bound(option, "offset", None, _places(option, value, '{"topicA":{"0":23,"1":-2}}', EARLIEST))


def _places(option: str, value: str, example: str, least: int) -> dict[str, dict[int, int]]:
    try:
        found = json.loads(value)
        places = {
            topic: {_whole(int(partition)): _whole(number, least) for partition, number in numbers.items()}
            for topic, numbers in found.items()
        }
    except (ValueError, AttributeError, TypeError):
        or_word = "" if least == 0 else "earliest, latest or "
        raise ValueError(f"{option}: {value!r} is not {or_word}JSON like {example}; write it so") from None
    return places


def _whole(number: object, least: int = 0) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise ValueError(str(number))
    return number


def _strategy(given: Mapping[str, str]) -> bool:
    value = given.get("startingoffsetsbytimestampstrategy", "error").lower()
    if value not in ("error", "latest"):
        raise ValueError(f"startingOffsetsByTimestampStrategy: {value!r} is none; say error or latest")
    return value == "latest"


def _flag(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = given.get(name.lower(), str(default)).lower()
    if value not in ("true", "false"):
        raise ValueError(f"{name}: {value!r} is neither true nor false; say one of them")
    return value == "true"


def _positive(given: Mapping[str, str], name: str) -> int | None:
    value = given.get(name.lower())
    if value is None:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise ValueError(f"{name}: {value!r} is no whole number above 0; give one")
    return int(value)
