"""Pages in which one looks things up have all of their kind: metrics, differences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.metrics_page import PAGE as METRICS_PAGE
from tidy.metrics_page import page as metrics_page
from tidy.sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_page_of_metrics_has_the_names_and_labels_of_all_families() -> None:
    assert METRICS_PAGE.read_text() == metrics_page(), "run `make docs`"


def test_every_difference_has_one_line_and_its_reason_under_the_same_id() -> None:
    lines = _ids(ROOT / "docs" / "differences.md")
    assert len(lines) > 100
    assert lines == _ids(ROOT / "docs" / "internals" / "differences.md")


def _ids(page: Path) -> list[str]:
    return re.findall(r"^\| ([PFCNTS]\d+) \|", page.read_text(), re.MULTILINE)
