"""Lines end at 120 columns: code, comments, prose of pages. A row of a table may need more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidy.sources import ROOT, Source, pages, python_sources, report, rust_sources, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_COLUMNS = 120
FOLDERS = ("tests", "benches", "demo")
KINDS = ("py", "rs", "go", "java", "sh", "xml")


def long_lines(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for number, line in enumerate(one.lines, start=1):
            if len(line) > MAX_COLUMNS:
                yield f"{one}:{number}: {len(line)} columns; at most {MAX_COLUMNS}"


def long_prose(sources: Iterable[Source]) -> Iterator[str]:
    """What stands in a fence is the output of a program."""
    for one in sources:
        is_fenced = False
        for number, line in enumerate(one.lines, start=1):
            is_fenced ^= line.startswith("```")
            if len(line) > MAX_COLUMNS and not is_fenced and not line.startswith("|"):
                yield f"{one}:{number}: {len(line)} columns; at most {MAX_COLUMNS}"


def test_code_and_comments_end_at_120_columns() -> None:
    others = [
        *(ROOT / "python").rglob("*.pyi"),
        *(path for folder in FOLDERS for kind in KINDS for path in (ROOT / folder).rglob(f"*.{kind}")),
        ROOT / "Makefile",
        ROOT / ".ci" / "run",
    ]
    report(long_lines([*rust_sources(), *python_sources(), *map(source, others)]))


def test_prose_of_pages_ends_at_120_columns() -> None:
    report(long_prose(pages()))
