"""The README's table of figures, out of a record of ``make referee`` in ``benches/record``.

A record that the table can be made of says in one line what was measured on what (``HEAD``), and has a table of
scenario, figure, Apache Kafka's value, ours, their ratio. A value with a ``~`` was computed from the ratio.

``make docs`` takes the newest such record; a test compares the page with the record that the page names, so that a
record which somebody has just added fails no test.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tidy.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = ROOT / "benches" / "record"
OF_REFEREE = re.compile(r"(\d{4}-\d{2}-\d{2})-referee(?:-(\d+))?\.md")

HEAD = re.compile(r"^Apache Kafka ([\d.]+\d) .*and kafkastore in turn on (.+ cores), (\w+ rounds?)\b", re.MULTILINE)
"""The version of Apache Kafka, the machine, the rounds."""

ROWS = (
    ("requests of 100 B a second, 16 connections", "small_c16", "requests/s", "{}"),
    ("CPU of the broker for 10,000 of them", "small_c16", "CPU s per 10 k", "{} s"),
    ("batches of 16 KB, 4 connections", "p16k_c4", "MB/s", "{} MB/s"),
    ("fetch from the page cache", "fetch", "MB/s", "{} MB/s"),
    ("end to end at 2,000 records a second, 99th percentile", "tail", "p99 ms", "{} ms"),
    ("start to the first acknowledged produce", "startup", "s to the first acknowledged produce", "{} s"),
    ("resident memory after the load", "loaded", "RSS MB", "{} MB"),
)
"""What the README says, the record's scenario and figure, and how a value is written."""


class Figure(NamedTuple):
    kafka: str
    ours: str
    ratio: str


class Record(NamedTuple):
    path: Path
    date: str
    kafka: str
    """The version of Apache Kafka."""
    machine: str
    rounds: str
    figures: dict[tuple[str, str], Figure]
    """By scenario and figure."""

    def faults(self) -> Iterator[str]:
        """What the table wants and the record has not; ratios that are not those of the figures."""
        for _, scenario, figure, _ in ROWS:
            if not all(self.figures.get((scenario, figure), ("",))):
                yield f"{self.path.name}: no {figure} of {scenario} for both brokers"
        for (scenario, figure), (kafka, ours, ratio) in self.figures.items():
            if kafka and ours and abs(_number(ours) / _number(kafka) / _number(ratio) - 1) > RATIO_TOLERANCE:
                yield f"{self.path.name}: {figure} of {scenario}: {ours} is not {ratio} of {kafka}"


RATIO_TOLERANCE = 0.05
"""Figures and ratios have two digits."""


def read(path: Path) -> Record | None:
    """None for a record of another kind: a referee's of two commits, say."""
    text = path.read_text()
    head = HEAD.search(text)
    if not head:
        return None
    figures = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 5 and "---" not in line:
            figures[cells[0], cells[1]] = Figure(*cells[2:5])
    figures.pop(("scenario", "figure"), None)
    return Record(path, path.name[:10], head[1], head[2], head[3], figures)


def newest() -> Record:
    """Of the records with all that the table wants."""
    names = {
        (found[1], int(found[2] or 1)): path for path in RECORDS.iterdir() if (found := OF_REFEREE.fullmatch(path.name))
    }
    for _, path in sorted(names.items(), reverse=True):
        record = read(path)
        if record and not list(record.faults()):
            return record
    raise FileNotFoundError(f"no record of `make referee` in {RECORDS} has every row of the table")


def named_in(block: str) -> Record:
    """The record that a table in a page links to."""
    name: str
    (name,) = re.findall(r"\]\(benches/record/([^)]+)\)", block)
    record = read(RECORDS / name)
    assert record, f"{name}: no line says what was measured on what: {HEAD.pattern}"
    faults = list(record.faults())
    assert not faults, "\n".join(faults)
    return record


def table(record: Record) -> str:
    lines = [
        f"One broker beside Apache Kafka {record.kafka} on the same {record.machine}, {record.date}, {record.rounds}",
        f"([record](benches/record/{record.path.name})):",
        "",
        "| | Apache Kafka | kafkastore | ratio |",
        "|---|---|---|---|",
    ]
    for words, scenario, figure, form in ROWS:
        kafka, ours, ratio = record.figures[scenario, figure]
        lines.append(f"| {words} | {form.format(kafka)} | {form.format(ours)} | {ratio} |")
    return "\n".join(lines)


def _number(cell: str) -> float:
    return float(cell.strip("~\N{MULTIPLICATION SIGN}").replace(",", ""))
