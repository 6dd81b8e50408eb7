"""Writes ``docs/commands.md`` out of the tree of commands (``make docs``)."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING

import click

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "commands.md"

BEGINNING = """\
# Every command

<!-- no block is run: made of what --help prints; tests/tools runs the commands -->

What `kafkastore COMMAND --help` prints, on one page. It is made by `make docs`; a test fails when it is out of date.
[Commands](tools.md) has examples, and Kafka's own tools; [exit status](exit-status.md) what they end with. The same is
a [man page](man/kafkastore.1).
"""


def page() -> str:
    from kafkastore.cli.commands import SECTIONS, SETTINGS, root

    context = click.Context(root, info_name="kafkastore", help_option_names=SETTINGS["help_option_names"])
    lines = [BEGINNING]
    for section, commands in SECTIONS.items():
        lines += [f"## {section}", ""]
        for name in commands:
            command = root.get_command(context, name)
            assert command is not None
            lines += described(command, click.Context(command, context, name), level=3)
    return "\n".join(lines)


def described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"{'#' * level} {context.command_path}", "", f"    {usage}", "")
    for text in (command.help, command.epilog):
        yield from paragraphs(text or "")
    rows = [
        f"| `{names}` | {escaped(' '.join(text.split()))} |".replace("`` ", "")
        for one in command.params
        if isinstance(one, click.Option) and (record := one.get_help_record(context))
        for names, text in [record]
    ]
    if rows:
        yield from ("| option | |", "|---|---|", *rows, "")
    if isinstance(command, click.Group):
        for name, verb in command.commands.items():
            yield from described(verb, click.Context(verb, context, name), level=4)


def paragraphs(text: str) -> Iterator[str]:
    """Of a help; those behind ``\\b`` line by line."""
    for paragraph in filter(None, inspect.cleandoc(text).split("\n\n")):
        if paragraph.startswith("\b"):
            yield from (f"    {line}".rstrip() for line in paragraph.splitlines()[1:])
        else:
            yield from textwrap.wrap(escaped(paragraph), 120, break_long_words=False, break_on_hyphens=False)
        yield ""


def escaped(text: str) -> str:
    """As Markdown shows it: no character of it is a markup."""
    return re.sub(r"([\\*<>|\[\]`]|\b_|_\b)", r"\\\1", text)
