"""The README's table of figures, out of a record of ``make bench`` in ``benches/record``.

``make docs`` takes the newest record; a test compares the page with the record that the page names, so that a bench
which somebody has just run fails no test.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tidy.sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = ROOT / "benches" / "record"
OF_MAKE_BENCH = re.compile(r"(\d{4}-\d{2}-\d{2})(?:-(\d+))?\.md")
"""Other benches' records have a word after the date."""

ROWS = (
    ("requests of 100 B, 4 connections", "small_c4", "requests/s", "{}/s"),
    ("the same, 99th percentile", "small_c4", "p99 ms", "{} ms"),
    ("the same, CPU of the broker for 10,000", "small_c4", "broker CPU s / 10,000", "{} s"),
    ("batches of 16 KB, one connection", "p16k", "MB/s", "{} MB/s"),
    ("the same, `acks=all`", "p16k_all", "MB/s", "{} MB/s"),
    ("fetches from the page cache", "fetch", "MB/s", "{} MB/s"),
    ("the same, CPU of the broker for a GB", "fetch", "broker CPU s / GB", "{} s"),
    ("end to end, 99th percentile", "tail", "p99 ms", "{} ms"),
    ("start to the first acknowledged produce", "start to the first acknowledged produce", "ms", "{} ms"),
    ("resident memory after the start", "memory after the start", "resident MB", "{} MB"),
)
"""What the README says, the record's scenario (as far as a colon) and figure, and how a value is written."""


class Record(NamedTuple):
    path: Path
    date: str
    machine: str
    rounds: str
    kafka: str
    """The version of Apache Kafka."""
    figures: dict[tuple[str, str], tuple[str, str]]
    """By scenario and figure: Kafka's, ours."""


def read(path: Path) -> Record:
    text = path.read_text()
    figures = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) >= 4:
            figures[cells[0].partition(":")[0], cells[1]] = (cells[2], cells[3])
    found = re.search(r"^(\d+ cores of .+?), Linux .*\b(\d+) rounds?, medians", text, re.MULTILINE)
    kafka = re.search(r"^Apache Kafka ([\d.]+\d)", text, re.MULTILINE)
    assert found, f"{path}: no line says the machine and the rounds"
    assert kafka, f"{path}: Apache Kafka was not measured"
    return Record(path, path.name[:10], found[1], found[2], kafka[1], figures)


def newest() -> Path:
    """Of the records of ``make bench`` with all that the table wants."""
    paths = {
        (found[1], int(found[2] or 1)): path
        for path in RECORDS.iterdir()
        if (found := OF_MAKE_BENCH.fullmatch(path.name))
    }
    for _, path in sorted(paths.items(), reverse=True):
        if (
            all(f"| {scenario}" in path.read_text() for _, scenario, _, _ in ROWS)
            and "Apache Kafka" in path.read_text()
        ):
            return path
    raise FileNotFoundError(f"no record of `make bench` in {RECORDS} has every row of the table")


def named_in(block: str) -> Path:
    """The record that a table in a page links to."""
    name: str
    (name,) = re.findall(r"\]\(benches/record/([^)]+)\)", block)
    return RECORDS / name


def table(path: Path) -> str:
    record = read(path)
    lines = [
        f"One broker beside Apache Kafka {record.kafka} on {record.machine}, by turns, medians of {record.rounds}",
        f"rounds, [{record.date}](benches/record/{record.path.name}):",
        "",
        "| | Apache Kafka | kafkastore | ratio |",
        "|---|---|---|---|",
    ]
    for words, scenario, figure, form in ROWS:
        theirs, ours = record.figures[scenario, figure]
        lines.append(f"| {words} | {form.format(theirs)} | {form.format(ours)} | {_ratio(ours, theirs)} |")
    return "\n".join(lines)


def _ratio(ours: str, theirs: str) -> str:
    ratio = float(ours.replace(",", "")) / float(theirs.replace(",", ""))
    written = f"{ratio:.2f}" if ratio < 1 else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"
    return f"{written}\N{MULTIPLICATION SIGN}"
