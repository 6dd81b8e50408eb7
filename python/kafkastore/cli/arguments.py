"""What commands share about their command lines: the parser, numbers, and bounds by offset or time. Opens no file."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import TYPE_CHECKING, NoReturn

from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable


class Parser(argparse.ArgumentParser):
    """Raises UsageError of one sentence, which begins with the verb of the command, if it has one, and ends with
    ``advice``, in place of ending the process."""

    def __init__(self, command: str, advice: str = "") -> None:
        super().__init__(prog=f"kafkastore {command}", add_help=False, allow_abbrev=False)
        self.advice = advice

    def error(self, message: str) -> NoReturn:
        verb = "".join(f"{word}: " for word in self.prog.split()[2:])
        raise UsageError(f"{verb}{message}{self.advice}")


def offset_or_time(text: str) -> int | datetime:
    """An offset, or an aware time in ISO 8601. Raises argparse.ArgumentTypeError of one sentence."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither an offset nor a time; write a time as 2026-01-31T12:00:00Z"
        ) from None
    if moment.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} has no time zone; add Z or an offset, as in {moment.isoformat()}Z")
    return moment


def whole_number(low: int, high: int | None = None) -> Callable[[str], int]:
    """A reader of numbers within the bounds, which raises argparse.ArgumentTypeError of one sentence."""

    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and low <= int(text) and (high is None or int(text) <= high)):
            span = f"; give one from {low} on" if high is None else f" from {low} to {high}"
            raise argparse.ArgumentTypeError(f"{text!r} is no number{span}")
        return int(text)

    return read
