"""Flags as most of Kafka's tools read them: ``--name value``, ``--name=value``, ``-name value``; no abbreviations;
words that are no flags are passed over; a value that is given twice is refused.

The tools whose flags Kafka reads with a copy of Python's argparse (``kafka-transactions``, ``kafka-storage`` and some
more) use argparse as it is.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class FlagsError(Exception):
    """A command line that is not understood: its sentence, and the help behind it, go to stderr; exit status 1."""


class _Once(argparse.Action):
    """Keeps a value, of which there can be one."""

    def __call__(self, _: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None) -> None:
        seen = namespace.__dict__.setdefault("seen", set())
        if self.dest in seen:
            name = (option_string or self.dest).lstrip("-")
            raise FlagsError(f"Found multiple arguments for option {name}, but you asked for only one")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)


class VersionAskedError(Exception):
    """``--version``: the tool prints it, and does nothing else; exit status 0."""


def int32(text: str) -> int:
    """An Integer of Java. Raises ValueError."""
    return _within(text, 31)


def int64(text: str) -> int:
    """A Long of Java. Raises ValueError."""
    return _within(text, 63)


def _within(text: str, bits: int) -> int:
    number = int(text)
    if not -(1 << bits) <= number < 1 << bits:
        raise ValueError(f"{text} has more than {bits + 1} bits")
    return number


int32.__name__ = int64.__name__ = "int"  # what argparse says of a value that is none


class Flags(argparse.ArgumentParser):
    """See the module."""

    def __init__(self, tool: str, purpose: str) -> None:
        super().__init__(prog=tool, description=purpose, add_help=False, allow_abbrev=False)
        self.add("--help", is_switch=True, help="Print usage information.")
        self.add("--version", is_switch=True, help="Display Kafka version.")

    def add(
        self,
        name: str,
        metavar: str | None = None,
        *,
        is_switch: bool = False,
        is_repeated: bool = False,
        is_optional: bool = False,
        type: Callable[[str], Any] = str,  # noqa: A002 - argparse's name
        default: Any = None,
        help: str = "",  # noqa: A002 - argparse's name
    ) -> None:
        """A flag with a value, without one (``is_switch``), with one that may be left out (``is_optional``: ""), or one
        that may be given again, whose values are a list."""
        if is_switch:
            self.add_argument(name, action="store_true", help=help)
            return
        value: dict[str, Any] = {"nargs": "?", "const": ""} if is_optional else {}
        action: Any = "append" if is_repeated else _Once
        self.add_argument(name, metavar=metavar, action=action, type=type, default=default, help=help, **value)

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The flags by name, ``-`` as ``_``. Raises FlagsError."""
        known = self._option_string_actions
        words = [
            f"-{word}" if word[:1] == "-" != word[1:2] and f"-{word.partition('=')[0]}" in known else word
            for word in arguments
        ]
        found, others = self.parse_known_args(self._with_values(words))
        for word in others:
            if word.startswith("-") and len(word) > 1:
                raise FlagsError(f"{word.partition('=')[0].lstrip('-')} is not a recognized option")
        return found

    def _with_values(self, words: Sequence[str]) -> list[str]:
        """Joins flags and values that begin with ``-``, as names of topics and groups may: argparse would take those
        for flags. What is a flag of the tool stays one."""
        known = self._option_string_actions
        joined: list[str] = []
        for word in words:
            before = known.get(joined[-1]) if joined else None
            takes_word = before is not None and before.nargs is None
            if takes_word and word.startswith("-") and word.partition("=")[0] not in known:
                joined[-1] += f"={word}"
            else:
                joined.append(word)
        return joined

    def asked(self, arguments: Sequence[str]) -> argparse.Namespace:
        """As :meth:`read`, of a tool that has to be told what to do. Raises FlagsError with its purpose for ``--help``
        and for no words, and VersionAskedError."""
        given = self.read(arguments)
        if given.help or not arguments:
            raise FlagsError(self.description)
        if given.version:
            raise VersionAskedError
        return given

    def error(self, message: str) -> NoReturn:
        raise FlagsError(message)

    def require(self, given: argparse.Namespace, *names: str) -> None:
        """Raises FlagsError for the first of these flags that is missing."""
        for name in names:
            if not is_given(given, name):
                raise FlagsError(f'Missing required argument "[{name}]"')

    def forbid(self, given: argparse.Namespace, name: str, *others: str) -> None:
        """Raises FlagsError for the first of ``others`` that is given beside ``name``."""
        for other in others:
            if is_given(given, name) and is_given(given, other):
                raise FlagsError(f'Option "[{name}]" can\'t be used with option "[{other}]"')

    def print_usage_and_why(self, why: str) -> None:
        sys.stderr.write(f"{why}\n{self.format_help()}")


def split_list(text: str) -> list[str]:
    """The parts of a list by comma, without empty ones at its end, as Java splits it: ``0,1,`` has two."""
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def is_given(flags: argparse.Namespace, name: str) -> bool:
    """Whether a flag is on the command line."""
    value = getattr(flags, name.replace("-", "_"))
    return value is not None and value is not False  # 0 is given
