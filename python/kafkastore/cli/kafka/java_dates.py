"""Times by a pattern of java.text.SimpleDateFormat, as ``--date-format`` gives it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkastore.cli.kafka.flags import FlagsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

PIECES: Final = re.compile(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z'])")
NUMBERS: Final[dict[str, Callable[[datetime], int]]] = {
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.timetuple().tm_yday,
    "H": lambda moment: moment.hour,
    "k": lambda moment: moment.hour or 24,
    "K": lambda moment: moment.hour % 12,
    "h": lambda moment: moment.hour % 12 or 12,
    "m": lambda moment: moment.minute,
    "s": lambda moment: moment.second,
    "S": lambda moment: moment.microsecond // 1000,
    "u": lambda moment: moment.isoweekday(),
}
LONG: Final = 4
"""So many letters mean a name in full."""


def java_date_format(pattern: str) -> Callable[[datetime], str]:
    """What formats an aware time. Raises FlagsError for letters that mean nothing here."""
    pieces = []
    at = 0
    while at < len(pattern):
        found = PIECES.match(pattern, at)
        if found is None:
            raise FlagsError(f"--date-format {pattern}: a quote is not closed")
        pieces.append(_piece(pattern, found))
        at = found.end()
    return lambda moment: "".join(piece(moment) for piece in pieces)


def _piece(pattern: str, found: re.Match[str]) -> Callable[[datetime], str]:
    quoted, letters = found["quoted"], found["letters"]
    if letters is None:
        text = found["other"] if quoted is None else quoted.replace("''", "'") or "'"
        return lambda _: text
    letter, width = letters[0], len(letters)
    if letter in NUMBERS:
        return lambda moment: str(NUMBERS[letter](moment)).zfill(width)
    named = {
        "M": "%B" if width >= LONG else "%b",
        "E": "%A" if width >= LONG else "%a",
        "a": "%p",
        "z": "%Z",
        "Z": "%z",
    }
    if letter == "y":
        return lambda moment: f"{moment.year % 100:02d}" if width == 2 else str(moment.year).zfill(width)
    if letter == "M" and width < LONG - 1:
        return lambda moment: str(moment.month).zfill(width)
    if letter in named:
        return lambda moment: moment.strftime(named[letter])
    raise FlagsError(f"--date-format {pattern}: {letter} means nothing here; give y M d H m s S and text in quotes")
