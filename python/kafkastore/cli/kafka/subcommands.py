"""Flags of the tools whose command lines Kafka reads with a copy of Python's argparse: ``kafka-features describe``. A
mistake ends with exit status 1, where Python's ends with 2."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from kafkastore.cli.kafka.flags import FlagsError

if TYPE_CHECKING:
    from collections.abc import Sequence


class _HelpShownError(Exception):
    """``--help`` was given, and printed."""


class Subcommands(argparse.ArgumentParser):
    """See the module. A tool's ``FLAGS``."""

    def error(self, message: str) -> NoReturn:
        raise FlagsError(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _HelpShownError(status, message)

    def read(self, arguments: Sequence[str]) -> argparse.Namespace | None:
        """The flags, or None after ``--help``. Raises FlagsError."""
        try:
            return self.parse_args(arguments)
        except _HelpShownError:
            return None

    def print_usage_and_why(self, why: str) -> None:
        sys.stderr.write(f"{self.format_usage()}{self.prog}: error: {why}\n")


def add_bootstrap(parser: argparse.ArgumentParser, *, server: Sequence[str], controller: Sequence[str]) -> None:
    """The two ways to name a cluster, one of which is to be given."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(*server, metavar="HOST:PORT,...", help="Brokers of the cluster.")
    group.add_argument(*controller, metavar="HOST:PORT,...", help="Controllers of Kafka's quorum.")
