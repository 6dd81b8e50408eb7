"""What commands print: tables for eyes, JSON and its like for programs.

rich draws a table on a terminal, within its width and in colours; everywhere else a table is plain lines, aligned, a
row a line. Text of a cluster is shown with its control characters escaped, and in JSON as it is, but for a terminal.
Progress and what went wrong go to stderr.
"""

from __future__ import annotations

import csv
import json
import sys
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv")
MOST_DRAWN_ROWS: Final = 1000
"""More are plain lines on a terminal, too: to fit them would take longer than to read them."""


class Column(NamedTuple):
    """``name`` is JSON's key; a table's head is the same in capitals."""

    name: str
    is_number: bool = False

    @property
    def head(self) -> str:
        return self.name.replace("_", " ").upper()


class Output(NamedTuple):
    """How the user wants it."""

    format: str = "table"

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> None:
        """Prints rows of values: text, numbers, booleans, lists of those, or None."""
        if self.format == "table":
            write_table(columns, list(rows))
        elif self.format in ("csv", "tsv"):
            writer = csv.writer(sys.stdout, delimiter="\t" if self.format == "tsv" else ",", lineterminator="\n")
            writer.writerow([column.name for column in columns])
            writer.writerows([[shown(value, "") for value in row] for row in rows])
        else:
            names = [column.name for column in columns]
            self.objects(dict(zip(names, row, strict=True)) for row in rows)

    def objects(self, found: Iterable[dict[str, Any]]) -> None:
        """Prints objects as JSON: an array, or a line for each."""
        show = printable_json if sys.stdout.isatty() else str
        if self.format == "jsonl":
            for one in found:
                click.echo(show(json.dumps(one, ensure_ascii=False)))
            return
        click.echo(show(json.dumps(list(found), ensure_ascii=False, indent=2)))

    @property
    def is_table(self) -> bool:
        return self.format == "table"


def output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--format`` and ``--json`` to a command, which gets an ``output``."""

    @click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
    @click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
    @wraps(function)
    def with_output(*arguments: Any, format_: str, is_json: bool, **options: Any) -> Any:
        return function(*arguments, output=Output("json" if is_json else format_), **options)

    return with_output


def shown(value: Any, nothing: str = "-") -> str:
    """A value as a cell: lists by comma, nothing as ``-``, control characters escaped."""
    if value is None or value == "":
        return nothing
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(shown(one) for one in value) or nothing
    if isinstance(value, bool):
        return "true" if value else "false"
    return printable(str(value))


def printable(text: str) -> str:
    """The text with what would act on a terminal, control characters and changes of direction, escaped."""
    return text if text.isprintable() else "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def printable_json(text: str) -> str:
    """JSON with what would act on a terminal as JSON's escapes, which say the same."""
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)


def say(text: str, *, err: bool = False) -> None:
    """Prints a line that has names in it."""
    click.echo(printable(text), err=err)


def write_table(columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
    """Prints a table, its head also without rows."""
    cells = [[shown(value) for value in row] for row in rows]
    if sys.stdout.isatty() and len(rows) <= MOST_DRAWN_ROWS:
        _draw(columns, cells)
        return
    heads = [column.head for column in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        padded = [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for column, width, cell in zip(columns, widths, row, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _draw(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.head, justify="right" if column.is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)
