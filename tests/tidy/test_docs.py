"""The documentation says what the code does, as far as a test can tell."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tidy.apis_page import PAGE
from tidy.apis_page import page as apis_page
from tidy.blocks import expanded
from tidy.keys_page import PAGE as KEYS_PAGE
from tidy.keys_page import page as keys_page
from tidy.sources import PYTHON, ROOT, Source, pages, product_sources, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MADE_WHEN_NEEDED = {"benches/record/", "demo/output/delays-by-carrier.png", "tests/proof/record.json"}
NAMED_FOR_OTHER_REASONS = {
    "sasl.jaas.config",  # behind the prefix of a listener
    "request.timeout.ms",  # of the console producer
    "sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret",  # of clients
    "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url",
    "background.threads", "num.io.threads", "num.replica.fetchers",  # Kafka's rules for changing them at run time
    "share.coordinator.state.topic.min.isr", "share.coordinator.state.topic.replication.factor",  # the embedded profile
    "ssl.keymanager.algorithm", "ssl.protocol", "ssl.trustmanager.algorithm",  # accepted: Java has a choice there
    "share.coordinator.state.topic.compression.codec",  # checked, as Kafka does
}  # fmt: skip
LISTS_OF_KEYS = ("effect.py", "relations.py")
"""Files that have keys without effect."""


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python"))


def test_page_of_apis_is_what_make_docs_writes() -> None:
    assert PAGE.read_text() == apis_page(), "run `make docs`"


def test_page_of_keys_is_what_make_docs_writes() -> None:
    assert KEYS_PAGE.read_text() == keys_page(), "run `make docs`"


def documented_keys() -> set[str]:
    """Those in the first column of the tables of keys with an effect."""
    sections = (ROOT / "docs" / "configuration-effect.md").read_text().split("\n## ")
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

    sources = [one for one in product_sources() if one.parts[-1] not in LISTS_OF_KEYS]
    texts = {text for one in sources for text in re.findall(r'"([a-z0-9.]+)"', one.text)}
    read = broker_keys().keys() & texts
    idle = {name for name in read if not has_effect(name) and not asks_for_protection(name)}
    assert idle == NAMED_FOR_OTHER_REASONS


LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]*))?\)")


def broken_links(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in LINK.finditer(one.text):
            target, anchor = found.groups()
            page = (ROOT / one.name).parent / target if target else ROOT / one.name
            if not page.exists():
                yield f"{one.at(found.start())}: links to {target}, which is not there"
            elif anchor and anchor not in anchors(page):
                yield f"{one.at(found.start())}: links to {target}#{anchor}, and there is no such heading"


@cache
def anchors(page: Path) -> set[str]:
    """The headings as they are linked to: lower case, hyphens for spaces, no punctuation."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


NAMED_FILE = re.compile(r"`((?:rust|python|tests|benches|demo|docs)/[\w./{},-]+)`")


def missing_files(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in NAMED_FILE.finditer(one.text):
            for name in sorted(set(expanded(found[1])) - MADE_WHEN_NEEDED):
                if not (ROOT / name).exists():
                    yield f"{one.at(found.start())}: names {name}, which is not there"


def test_links_lead_somewhere() -> None:
    assert sum(len(LINK.findall(page.text)) for page in pages()) > 100, "the links are not found"
    report(broken_links(pages()))


def test_files_that_are_named_exist() -> None:
    assert sum(len(NAMED_FILE.findall(page.text)) for page in pages()) > 100, "the names are not found"
    report(missing_files(pages()))


def test_every_configuration_that_is_documented_exists() -> None:
    known = {
        line.split("\t")[0]
        for table in ("broker", "topic", "zookeeper")
        for line in source(PYTHON / "config" / f"{table}-configs.tsv").lines
    }
    page = source(ROOT / "docs" / "configuration-effect.md")
    documented = [
        (number, name)
        for number, row in enumerate(page.lines, start=1)
        if row.startswith("| `")
        for name in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]
    assert len(documented) > 100, "the tables are not found"
    report(f"{page}:{number}: there is no {name}" for number, name in documented if name not in known)
