"""What commands share about their command lines: the parser, its error, and bounds by offset or time. Opens no file."""

from __future__ import annotations

import argparse
from datetime import datetime
from typing import NoReturn


class UsageError(Exception):
    """The command line cannot be understood."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError of one sentence, which ends with ``advice``, in place of ending the process."""

    def __init__(self, command: str, advice: str = "") -> None:
        super().__init__(prog=f"kafkastore {command}", add_help=False, allow_abbrev=False)
        self.advice = advice

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}{self.advice}")


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
