"""Writes ``docs/man/kafkastore.1`` out of the tree of commands (``make docs``)."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import click

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "man" / "kafkastore.1"

END = """\
.SH EXIT STATUS
.TP
.B 0
Done.
.TP
.B 1
Refused, failed, or something was found; one sentence on stderr, or one for each thing.
.TP
.B 2
The command line is not understood.
.TP
.B 130
Ctrl\\-C.
.TP
.B 141
Nobody reads what is printed.
.PP
Kafka's own tools have those of Kafka: 0 or 1.
.SH ENVIRONMENT
.TP
.B KAFKASTORE_BOOTSTRAP_SERVERS
Brokers to begin with, where the command line names none.
.TP
.B KAFKASTORE_PROFILE
The profile that is meant, before the one in use.
.TP
.B XDG_CONFIG_HOME
Where profiles are, in the folder kafkastore; else ~/.config.
.TP
.B XDG_DATA_HOME
Where a broker without a file keeps its data, in the folder kafkastore; else ~/.local/share.
.SH FILES
.TP
.I ~/.config/kafkastore/profiles/NAME.properties
A profile.
.TP
.I ~/.local/share/kafkastore
Data of a broker without a file.
.SH SEE ALSO
.BR kcat (1)
"""


def page() -> str:
    from kafkastore.cli.commands import EPILOG, MODULES, SECTIONS, SETTINGS, root

    context = click.Context(root, info_name="kafkastore", help_option_names=SETTINGS["help_option_names"])
    lines = [
        '.\\" Made by make docs from the commands themselves.',
        '.TH KAFKASTORE 1 "" "" "User Commands"',
        ".ad l",
        ".SH NAME",
        f"kafkastore \\- {escaped((root.help or '').partition('.')[0])}",
        ".SH SYNOPSIS",
        ".B kafkastore",
        "[\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...",
        ".br",
        ".B kafkastore kafka\\-topics",
        "[\\fIFLAG\\fR]...",
        ".SH DESCRIPTION",
        *paragraphs(f"{root.help}\n\n{EPILOG.splitlines()[0]}"),
        *options(root, context),
        ".SH COMMANDS",
    ]
    for section, commands in SECTIONS.items():
        lines.append(f".SS {escaped(section)}")
        for name, text in commands.items():
            lines += [".TP", f".B {escaped(name)}", escaped(text)]
    for name in MODULES:
        lines.append(f".SH {escaped(name).upper()}")
        command = root.get_command(context, name)
        assert command is not None
        lines += described(command, click.Context(command, context, name))
    return "\n".join(lines) + "\n" + END


def described(command: click.Command, context: click.Context) -> Iterator[str]:
    """A command's usage, help and options; then those of its verbs."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (".PP", f".B {escaped(usage)}", *paragraphs(command.help or ""), *options(command, context))
    if command.epilog:
        yield from paragraphs(command.epilog)
    if isinstance(command, click.Group):
        for name, verb in command.commands.items():
            yield f".SS {escaped(f'{context.info_name} {name}')}"
            yield from described(verb, click.Context(verb, context, name))


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    for one in command.params:
        if isinstance(one, click.Option) and (record := one.get_help_record(context)):
            names, text = record
            yield from (".TP", f".B {escaped(names)}", escaped(re.sub(r"\s+", " ", text)) or "\\&")


def paragraphs(text: str) -> Iterator[str]:
    """Of a help; those behind ``\\b`` line by line."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from (".PP", ".nf", *map(escaped, paragraph.splitlines()[1:]), ".fi")
        else:
            yield from (".PP", *map(escaped, paragraph.splitlines()))


def escaped(text: str) -> str:
    """The text as roff takes it, on a line of its own or behind a request."""
    made = text.rstrip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{made}" if made.startswith((".", "'")) else made
