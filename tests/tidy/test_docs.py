"""The documentation says what the code does, as far as a test can tell."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tidy.apis_page import PAGE
from tidy.apis_page import page as apis_page
from tidy.keys_page import PAGE as KEYS_PAGE
from tidy.keys_page import page as keys_page
from tidy.sources import PYTHON, ROOT, is_rust_test, python_files, rust_files

if TYPE_CHECKING:
    from pathlib import Path

MADE_WHEN_NEEDED = {"benches/record/", "demo/output/delays-by-carrier.png"}
NAMED_FOR_OTHER_REASONS = {
    "background.threads", "num.io.threads", "num.replica.fetchers",  # Kafka's rules for changing them at run time
    "share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor",  # the embedded profile
    "ssl.keymanager.algorithm", "ssl.protocol", "ssl.trustmanager.algorithm",  # accepted: Java has a choice there
}  # fmt: skip
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "python"), *sys.path])


def test_page_of_apis_is_what_make_docs_writes() -> None:
    assert PAGE.read_text() == apis_page(), "run `make docs`"


def test_page_of_keys_is_what_make_docs_writes() -> None:
    assert KEYS_PAGE.read_text() == keys_page(), "run `make docs`"


def documented_keys() -> set[str]:
    """Those in the first column of the tables of keys with an effect."""
    sections = (ROOT / "docs" / "configuration.md").read_text().split("\n## ")
    rows = [row for section in sections if " keys with an effect\n" in section for row in section.splitlines()]
    return {name for row in rows if row.startswith("| `") for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


def test_keys_with_an_effect_are_documented_and_no_others() -> None:
    from kafkastore.config.definitions import broker_keys, topic_keys
    from kafkastore.config.effect import TOPIC_KEYS_WITHOUT_EFFECT, has_effect

    tables = (broker_keys(), topic_keys())
    effective = {name for name in tables[0] if has_effect(name)} | (tables[1].keys() - TOPIC_KEYS_WITHOUT_EFFECT)
    internal = {name for table in tables for name, key in table.items() if key.is_internal}
    assert effective - internal <= documented_keys() <= effective


def test_keys_that_the_code_reads_have_an_effect() -> None:
    from kafkastore.config.definitions import broker_keys
    from kafkastore.config.effect import asks_for_protection, has_effect

    sources = [*python_files(), *(path for path in rust_files() if not is_rust_test(path))]
    code = "".join(path.read_text() for path in sources)
    read = {name for name in broker_keys() if f'"{name}"' in code}
    idle = {name for name in read if not has_effect(name) and not asks_for_protection(name)}
    assert idle == NAMED_FOR_OTHER_REASONS


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
    rows = (ROOT / "docs" / "configuration.md").read_text().splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| `")]
    documented = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert len(documented) > 100, "the tables are not found"
    assert documented - known == set(), "docs/configuration.md names what does not exist"
