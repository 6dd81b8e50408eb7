"""The documentation says what the code does, as far as a test can tell."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tidy.apis_page import PAGE
from tidy.apis_page import page as apis_page
from tidy.sources import PYTHON, ROOT

if TYPE_CHECKING:
    from pathlib import Path

MADE_WHEN_NEEDED = {"benches/record/", "demo/output/delays-by-carrier.png"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "python"), *sys.path])


def test_page_of_apis_is_what_make_docs_writes() -> None:
    assert PAGE.read_text() == apis_page(), "run `make docs`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", path.read_text()):
        page = path.parent / target if target else path
        assert page.exists(), f"{path.name} links to {target}"
        assert not anchor or anchor in anchors(page), f"{path.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The headings as they are linked to: lower case, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    roots = r"(?:rust|python|tests|benches|demo|docs)/"
    for named in re.findall(rf"`({roots}[\w./{{}},-]+)`", path.read_text()):
        for one in set(expanded(named)) - MADE_WHEN_NEEDED:
            assert (ROOT / one).exists() or "<" in one, f"{path.name} names {one}"


def expanded(name: str) -> list[str]:
    """``a/{b,c}.rs`` as ``a/b.rs`` and ``a/c.rs``."""
    found = re.fullmatch(r"(.*)\{(.*)\}(.*)", name)
    return [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")] if found else [name]


def test_every_configuration_that_is_documented_exists() -> None:
    known = {
        line.split("\t")[0]
        for table in ("broker", "topic", "zookeeper")
        for line in (PYTHON / "config" / f"{table}-configs.tsv").read_text().splitlines()
    }
    for row in (ROOT / "docs" / "configuration.md").read_text().splitlines():
        if row.startswith("| `"):
            for name in re.findall(r"`([^`]+)`", row.split("|")[1]):
                assert name in known, f"docs/configuration.md: there is no {name}"
