"""What the real command says of a command line: its own parsers are asked, and nothing runs.

``kafkastore.cli.main`` is called with each of its parsers made to stop once it has understood the line.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
from functools import cache
from typing import TYPE_CHECKING, Any
from unittest import mock

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

ENDS = {"|", "&&", ";", ">", "2>", "<"}
"""Where a shell's command ends."""


class UnderstoodError(BaseException):
    """A parser has taken the line; no command may catch this."""

    def __init__(self, options: set[str]) -> None:
        self.options = options


def words_of(line: str) -> list[str]:
    """Of a line for a shell, without comment and without what it is piped into; a substitution is one word."""
    words = shlex.split(re.sub(r"\$\([^)]*\)", "substituted", line), comments=True)
    end = next((place for place, word in enumerate(words) if word in ENDS), len(words))
    return words[:end]


def complaint(words: list[str]) -> str:
    """What ``kafkastore`` says against a whole command line, its name not included; "" when it takes it."""
    said = _outcome(tuple(words))
    return said if isinstance(said, str) else ""


def complaint_of_part(words: list[str]) -> str:
    """The same of a line with words left out: verbs and options exist, whatever is missing."""
    verbs = [word for word in words[:2] if re.fullmatch(r"[a-z][a-z-]+", word)]
    said = _outcome(tuple(verbs))
    if isinstance(said, str) and "No such command" in said:
        return said
    for option in sorted({word.partition("=")[0] for word in words if word.startswith("--")} - {"--help", "--version"}):
        said = _outcome((*verbs[:1], *verbs[1:], option, "1"), stops_before=True)
        unknown = "No such option" in said if isinstance(said, str) else option not in said
        if unknown:
            return f"there is no option {option}"
    return ""


@cache
def _outcome(words: tuple[str, ...], *, stops_before: bool = False) -> str | frozenset[str]:
    """The sentence on stderr, or the options that the parser knows when it has understood the line (before it looks at
    the line with ``stops_before``)."""
    import click

    from kafkastore.cli import broker_start, main
    from kafkastore.cli.kafka.flags import Flags

    said = io.StringIO()
    with contextlib.ExitStack() as stack:
        for owner, name, options in (
            (click.Command, "parse_args", _options_of_click),
            (Flags, "read", _options_of_argparse),
            (argparse.ArgumentParser, "parse_args", _options_of_argparse),
        ):
            stopping = _stopping(getattr(owner, name), options, stops_before)
            stack.enter_context(mock.patch.object(owner, name, stopping))
        stack.enter_context(mock.patch.object(broker_start, "understood", return_value=None))
        stack.enter_context(contextlib.redirect_stderr(said))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        try:
            main.main(list(words))
        except UnderstoodError as error:
            return frozenset(error.options)
    return said.getvalue().partition("\n")[0]


def _options_of_click(command: Any, context: Any, _: Any) -> set[str] | None:
    """None of a group, whose verbs have the options."""
    import click

    if isinstance(command, click.Group):
        return None
    return {name for one in command.get_params(context) for name in one.opts if name.startswith("-")}


def _options_of_argparse(parser: argparse.ArgumentParser, *_: Any) -> set[str] | None:
    return set(parser._option_string_actions)


def _stopping(
    parse: Callable[..., Any], options_of: Callable[..., set[str] | None], stops_before: bool
) -> Callable[..., Any]:
    def parse_and_stop(*given: Any) -> Any:
        options = options_of(*given)
        if options is None:
            return parse(*given)
        if not stops_before:
            parse(*given)
        raise UnderstoodError(options)

    return parse_and_stop


# ---- make
@cache
def make_targets() -> frozenset[str]:
    return frozenset(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE))


@cache
def make_variables() -> frozenset[str]:
    return frozenset(re.findall(r"\$\(([A-Z_]+)", (ROOT / "Makefile").read_text()))


def complaint_of_make(words: list[str]) -> str:
    """What is wrong with the words after ``make``."""
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable and name not in make_variables():
            return f"the Makefile has no variable {name}"
        if not is_variable and not word.startswith("-") and word not in make_targets():
            return f"the Makefile has no target {word}"
    return ""
