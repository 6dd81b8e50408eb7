"""Lines end at 120 columns: code, comments, prose of pages (issue 14, item 6). A row of a table may need more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidy.sources import ROOT, python_files, rust_files

if TYPE_CHECKING:
    from pathlib import Path

MAX_COLUMNS = 120
FOLDERS = ("tests", "benches", "demo")
KINDS = ("py", "rs", "go", "java", "sh", "xml")
SOURCES = [
    *rust_files(),
    *python_files(),
    *(ROOT / "python").rglob("*.pyi"),
    *(path for folder in FOLDERS for kind in KINDS for path in (ROOT / folder).rglob(f"*.{kind}")),
    ROOT / "Makefile",
    ROOT / ".ci" / "run",
]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _long_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > MAX_COLUMNS]


def test_code_and_comments_end_at_120_columns() -> None:
    long = {_named(path) for path in SOURCES if _long_lines(path.read_text().splitlines())}
    assert long == set()


@pytest.mark.parametrize("page", sorted(PAGES), ids=_named)
def test_prose_of_a_page_ends_at_120_columns(page: Path) -> None:
    """What stands in a fence is the output of a program."""
    prose, is_fenced = [], False
    for line in page.read_text().splitlines():
        is_fenced ^= line.startswith("```")
        if not is_fenced and not line.startswith("|"):
            prose.append(line)
    assert not _long_lines(prose)
