"""Pages in which one looks things up have all of their kind: metrics, commands, differences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.commands_page import PAGE as COMMANDS_PAGE
from tidy.commands_page import page as commands_page
from tidy.man_page import PAGE as MAN_PAGE
from tidy.man_page import page as man_page
from tidy.metrics_page import PAGE as METRICS_PAGE
from tidy.metrics_page import page as metrics_page
from tidy.sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_page_of_metrics_has_the_names_and_labels_of_all_families() -> None:
    assert METRICS_PAGE.read_text() == metrics_page(), "run `make docs`"


def test_man_page_has_the_help_of_all_commands() -> None:
    """And so has the page of commands."""
    assert MAN_PAGE.read_text() == man_page(), "run `make docs`"
    assert COMMANDS_PAGE.read_text() == commands_page(), "run `make docs`"


def test_every_difference_has_one_line_and_its_reason_under_the_same_id() -> None:
    lines = _ids(ROOT / "docs" / "differences.md")
    assert len(lines) > 100
    assert lines == _ids(ROOT / "docs" / "internals" / "differences.md")


def _ids(page: Path) -> list[str]:
    return re.findall(r"^\| ([PFCNTS]\d+) \|", page.read_text(), re.MULTILINE)
