"""Types of options and arguments that several commands have. A mistake is a sentence that says what to write instead.
Opens no file.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    OptionType = click.ParamType[Any]
else:
    OptionType = click.ParamType  # before click 8.4 it is not generic

UNITS: Final = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MOST_DIGITS: Final = 18
YEAR_S: Final = 366 * 86_400
SIZE_TEXT: Final = re.compile(r"(\d{1,15})([kMGT]?)", re.ASCII)


def moment_of(text: str, refusal: str = "is no time") -> datetime:
    """An aware time in ISO 8601. Raises ValueError of one sentence."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} {refusal}; write a time as 2026-01-31T12:00:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; add Z or an offset, as in {moment.isoformat()}Z")
    return moment


class _OffsetOrTime(OptionType):
    name = "offset|time"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int | datetime:
        if value.isascii() and value.isdigit():
            if len(value) > MOST_DIGITS:
                self.fail(f"{value} is larger than any offset", param, ctx)
            return int(value)
        try:
            return moment_of(value, "is neither an offset nor a time")
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Size(OptionType):
    name = "size"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = SIZE_TEXT.fullmatch(value)
        if match is None or int(match[1]) == 0:
            self.fail(f"{value!r} is no size; give bytes, or a number with k, M, G or T (1024), as 128M", param, ctx)
        return int(match[1]) * UNITS[match[2]]


class Seconds(click.FloatRange):
    """So many, and no more than a year."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if not found <= YEAR_S:
            self.fail(f"{value} is no number of seconds up to a year", param, ctx)
        return found


class _Columns(OptionType):
    name = "columns"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        from kafkastore.scanning.bounds import as_columns

        try:
            return as_columns([name.strip() for name in value.split(",")])
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Pair(OptionType):
    """``name=value`` as (name, value)."""

    name = "NAME=VALUE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, rest = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is no NAME=VALUE", param, ctx)
        return name, rest


MOST_PARTITIONS: Final = (1 << 31) - 1
"""What a request has room for."""
PARTITION: Final = click.IntRange(0, MOST_PARTITIONS)
OFFSET_OR_TIME: Final = _OffsetOrTime()
SIZE: Final = _Size()
COLUMNS: Final = _Columns()
PAIR: Final = _Pair()
