"""What commands print: tables for eyes, JSON and its like for programs.

On a terminal rich draws a table within its width, in colours, with sizes and times for eyes; rows that do not fit stand
there a value a line. Everywhere else a table is plain lines, aligned, a row a line. Text of a cluster is shown with its
control characters escaped, and in JSON as it is, but for a terminal. Progress and what went wrong go to stderr.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import UTC, datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

FORMATS: Final = ("table", "json", "jsonl", "csv", "tsv")
MOST_DRAWN_ROWS: Final = 1000
"""More are plain lines on a terminal, too: to fit them would take longer than to read them."""
NARROWEST_TEXT: Final = 20
"""So much of a name or a value is on one line of a terminal at least; numbers and words of the head are not broken."""
GAP: Final = 2
UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
KIB: Final = 1024
MS_IN_S: Final = 1000


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

    def rows(self, columns: Sequence[Column], rows: Iterable[Sequence[Any]], nothing: str = "") -> None:
        """Prints rows of values: text, numbers, booleans, lists of those, or None. ``nothing`` is said on stderr beside
        a table without rows."""
        if self.format == "table":
            found = list(rows)
            write_table(columns, found)
            if nothing and not found:
                click.echo(nothing, err=True)
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
    if sys.stdout.isatty() and len(rows) <= MOST_DRAWN_ROWS:
        _draw([_head_for_eyes(column) for column in columns], columns, rows)
        return
    cells = [[shown(value) for value in row] for row in rows]
    heads = [column.head for column in columns]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    for row in (heads, *cells):
        padded = [
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for column, width, cell in zip(columns, widths, row, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _draw(heads: Sequence[str], columns: Sequence[Column], rows: Sequence[Sequence[Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_for_eyes(column, value) for column, value in zip(columns, row, strict=True)] for row in rows]
    console = Console(highlight=False)
    widths = _fitted(heads, columns, cells, console.width)
    if widths is None and not cells:
        console.print("  ".join(heads), style="bold", soft_wrap=True)
        return
    if widths is None:
        widest = max(map(len, heads))
        for number, row in enumerate(cells):
            lines = [
                Text.assemble((head.ljust(widest), "bold"), "  ", cell) for head, cell in zip(heads, row, strict=True)
            ]
            console.print(*([""] if number else []), *lines, sep="\n", soft_wrap=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head, column, width in zip(heads, columns, widths, strict=True):
        table.add_column(head, justify="right" if column.is_number else "left", overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    console.print(table)


def _fitted(
    heads: Sequence[str], columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int
) -> list[int] | None:
    """The columns' widths within that of a terminal; None where a number would be broken, or too little of a name is on
    a line."""
    longest = [max((len(row[at]) for row in cells), default=0) for at in range(len(columns))]
    whole = [max(len(head), cell) for head, cell in zip(heads, longest, strict=True)]
    least = [
        max(0, *map(len, head.split()), cell if column.is_number else min(cell, NARROWEST_TEXT))
        for head, column, cell in zip(heads, columns, longest, strict=True)
    ]
    spare = width - sum(least) - GAP * (len(columns) - 1)
    if spare < 0:
        return None
    while spare > 0 and least != whole:
        at = min((at for at in range(len(least)) if least[at] < whole[at]), key=least.__getitem__)
        least[at] += 1
        spare -= 1
    return least


def _is_size(column: Column) -> bool:
    return column.is_number and "bytes" in column.name.split("_")


def _is_duration(column: Column) -> bool:
    return column.is_number and column.name.endswith("_ms") and not column.name.endswith("timestamp_ms")


def _head_for_eyes(column: Column) -> str:
    return column.head.removesuffix(" MS") if _is_duration(column) or _is_moment(column) else column.head


def _is_moment(column: Column) -> bool:
    return column.is_number and column.name.endswith("_timestamp_ms")


def _for_eyes(column: Column, value: Any) -> str:
    """A cell of a terminal: sizes with a unit, times in ISO 8601, durations in days to seconds."""
    if not isinstance(value, int) or value < 0:
        return shown(value)
    if _is_size(column):
        return size_text(value)
    if _is_duration(column):
        from kafkastore.cli.times import duration_text

        return f"{value}ms" if value < MS_IN_S else duration_text(value / MS_IN_S)
    if _is_moment(column):
        moment = datetime.fromtimestamp(value / MS_IN_S, UTC)
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{value % MS_IN_S:03}Z"
    return shown(value)


def size_text(size_bytes: int) -> str:
    """``889 B``, ``4.0 KiB``, ``252.0 GiB``."""
    size, unit = float(size_bytes), 0
    while size >= KIB and unit < len(UNITS) - 1:
        size, unit = size / KIB, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{size_bytes} B"
