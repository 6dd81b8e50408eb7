"""Lines end at 120 columns: code, comments, prose of pages (issue 14, item 6). A row of a table may need more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tidy.sources import ROOT, python_files, rust_files

if TYPE_CHECKING:
    from pathlib import Path

MAX_COLUMNS = 120
FOLDERS = ("tests", "benches", "demo")
LONG_FOR_NOW = {
    "benches/record_validate.rs",
    "benches/storage_partitions.rs",
    "rust/broker/fetch.rs",
    "rust/broker/fetch/outcome.rs",
    "rust/broker/fetch/tests/closest.rs",
    "rust/broker/fetch_session.rs",
    "rust/broker/fetchers.rs",
    "rust/broker/followers.rs",
    "rust/broker/followers/tests.rs",
    "rust/broker/hosting/tests.rs",
    "rust/broker/list_offsets.rs",
    "rust/broker/list_offsets/tests.rs",
    "rust/broker/losses/tests/damages.rs",
    "rust/broker/metadata.rs",
    "rust/broker/moves/tests.rs",
    "rust/broker/partition/append.rs",
    "rust/broker/partition/awaited.rs",
    "rust/broker/partition/closest.rs",
    "rust/broker/partition/describe.rs",
    "rust/broker/partition/leadership.rs",
    "rust/broker/partition/read.rs",
    "rust/broker/partition/replication.rs",
    "rust/broker/partition/tests.rs",
    "rust/broker/planted.rs",
    "rust/broker/produce.rs",
    "rust/broker/replica_fetcher.rs",
    "rust/broker/replica_fetcher/tests.rs",
    "rust/broker/replica_fetcher/tests/readers.rs",
    "rust/coordinator/groups.rs",
    "rust/place.rs",
    "rust/py/engine.rs",
    "rust/py/simulator.rs",
    "rust/py/values.rs",
    "rust/record/header.rs",
    "rust/record/rewrite.rs",
    "rust/scan/check/order.rs",
    "rust/scan/plan.rs",
    "rust/scan/testing.rs",
    "rust/scan/transactions/tests.rs",
    "rust/storage/append.rs",
    "rust/storage/future.rs",
    "rust/storage/leader_epochs/tests.rs",
    "rust/storage/log.rs",
    "rust/storage/lookup.rs",
    "rust/storage/lookup/tests/history.rs",
    "rust/storage/recovery/tests/losses.rs",
    "rust/storage/truncate.rs",
    "tests/data_plane/corruption.rs",
    "tests/storage/fault_points.rs",
}
"""Files with longer lines that are still to be wrapped; none may come."""

SOURCES = [
    *rust_files(),
    *python_files(),
    *(ROOT / "python").rglob("*.pyi"),
    *(path for folder in FOLDERS for kind in ("py", "rs") for path in (ROOT / folder).rglob(f"*.{kind}")),
]
PAGES = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _long_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if len(line) > MAX_COLUMNS]


def test_code_and_comments_end_at_120_columns() -> None:
    long = {_named(path) for path in SOURCES if _long_lines(path.read_text().splitlines())}
    assert long <= LONG_FOR_NOW


@pytest.mark.parametrize("page", sorted(PAGES), ids=_named)
def test_prose_of_a_page_ends_at_120_columns(page: Path) -> None:
    """What stands in a fence is the output of a program."""
    prose, is_fenced = [], False
    for line in page.read_text().splitlines():
        is_fenced ^= line.startswith("```")
        if not is_fenced and not line.startswith("|"):
            prose.append(line)
    assert not _long_lines(prose)
