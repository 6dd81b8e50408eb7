"""Where a read begins and ends, in words: ``begin``, ``end``, an offset, ``-N`` (the last N), ``+N`` (behind the first
N), ``@TIME``; ``START:END`` for a range, of which either side may be missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.admin.offsets import EARLIEST, LATEST, offsets_at
from kafkastore.cli.times import time_ms
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.admin.admin_client import AdminClient, Partition

BEGIN: Final = ("begin", "beginning", "start", "earliest", "oldest")
END: Final = ("end", "latest", "newest")
NUMBER: Final = re.compile(r"([+-]?)(\d{1,20})", re.ASCII)
LAST_OFFSET: Final = (1 << 63) - 1
SECONDS_DIGITS: Final = 11
"""A time of so many digits at most is in seconds, a longer one in milliseconds."""


class Bound(NamedTuple):
    """``time``: EARLIEST, LATEST, or milliseconds; ``shift`` is added to the offset that it stands for. With ``time``
    None the offset is ``shift`` itself."""

    time: int | None
    shift: int = 0


class OffsetRange(NamedTuple):
    start: Bound
    end: Bound | None = None


def offset_range(text: str) -> OffsetRange:
    """Raises ConfigError."""
    start, end = _sides(text)
    first = _bound(text, start) if start else Bound(EARLIEST)
    if end is None:
        return OffsetRange(first)
    last = _bound(text, end) if end else Bound(LATEST)
    is_back = first.time == last.time and last.shift < first.shift
    if first.time is not None and last.time is not None and last.time >= 0:
        is_back = last.time < first.time
    if is_back:
        raise ConfigError(f"--offset {text}: it ends before it begins; give the smaller side first")
    return OffsetRange(first, last)


def _sides(text: str) -> tuple[str, str | None]:
    """Both sides of a range. A time has colons of its own: a second side is one where the first is a whole time."""
    if not text.startswith("@"):
        start, colon, end = text.partition(":")
        return start, end if colon else None
    for found in re.finditer(":", text):
        start, end = text[: found.start()], text[found.end() :]
        if end.startswith("@") or end in ("", *END) or (start[1:].isdigit() and NUMBER.fullmatch(end)):
            return start, end
    return text, None


def _bound(text: str, side: str) -> Bound:
    if side in BEGIN:
        return Bound(EARLIEST)
    if side in END:
        return Bound(LATEST)
    if side.startswith("@"):
        return Bound(_time_ms(text, side[1:]))
    found = NUMBER.fullmatch(side)
    if found is None:
        raise ConfigError(
            f"--offset {text}: {side} is no offset; give begin, end, a number, -N for the last N, or @ and a time"
        )
    sign, digits = found.groups()
    if int(digits) > LAST_OFFSET:
        raise ConfigError(f"--offset {text}: {side} is larger than any offset; give {LAST_OFFSET} at most")
    if sign == "-":
        return Bound(LATEST, -int(digits))
    return Bound(EARLIEST if sign else None, int(digits))


def _time_ms(text: str, given: str) -> int:
    if given.isascii() and given.isdigit() and len(given) <= 20:
        moment = int(given) * (1000 if len(given) <= SECONDS_DIGITS else 1)
        if moment > LAST_OFFSET:
            raise ConfigError(f"--offset {text}: {given} is later than any time; give another")
        return moment
    try:
        return time_ms(given.removeprefix("-"))
    except ConfigError as error:
        raise ConfigError(f"--offset {text}: {error}") from None


async def resolve(client: AdminClient, partitions: Sequence[Partition], bound: Bound) -> dict[Partition, int]:
    """The offset of a bound in each partition, within what the partition has. Raises KafkaError."""
    if bound.time is None:
        return dict.fromkeys(partitions, bound.shift)
    found = await offsets_at(client, partitions, bound.time)
    if bound.time >= 0 or bound.shift:
        firsts = await offsets_at(client, partitions, EARLIEST)
        lasts = await offsets_at(client, partitions, LATEST)
        found = {
            one: min(max(offset + bound.shift, firsts[one]), lasts[one]) if offset >= 0 else lasts[one]
            for one, offset in found.items()
        }
    return found
