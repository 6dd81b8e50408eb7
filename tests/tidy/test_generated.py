"""What programs write into the pages is what stands there, and the numbers in their prose are those of the tree."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from tidy import generated, layout
from tidy.figures import newest, read, table
from tidy.sources import ROOT, Source, pages, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python"))


def stale_blocks(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in generated.BLOCK.finditer(one.text):
            if found[2] not in generated.BLOCKS:
                yield f"{one.at(found.start())}: no program writes {found[2]}"
            elif found[3] != generated.BLOCKS[found[2]](found[3]):
                yield f"{one.at(found.start())}: the block {found[2]} is not what `make docs` writes"
        if len(re.findall("<!-- (?:generated: |end -->)", one.text)) != 2 * len(generated.BLOCK.findall(one.text)):
            yield f"{one}:1: a generated block has no begin or no end"


def rows_without_a_folder(page: Source) -> Iterator[str]:
    """Of the table of what the folders of tests prove, and folders without a row."""
    cells = re.findall(r"^\| (`tests/[^|]+) \|", page.text, re.MULTILINE)
    rows = [name for cell in cells for name in re.findall(r"`tests/(\w+)`", cell)]
    folders = [one.name for one in (ROOT / "tests").iterdir() if one.is_dir() and one.name[0] not in "._"]
    yield from (f"{page}:1: there is no folder tests/{name}" for name in rows if name not in folders)
    yield from (f"{page}:1: no row says what tests/{name} proves" for name in folders if name not in rows)


def numbers() -> dict[str, set[str]]:
    """Numbers that a page says of this tree: how it says one, and what may stand there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    crate = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    installed = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if re.match(r"\w", line)]
    return {
        r"\b(\d+) APIs\b": {str(_number_of_apis())},
        r"\b(\w+) Python packages\b": {WORDS[len(project["dependencies"])], WORDS[len(installed)]},
        r"\bPython (3\.\d+) or newer": {project["requires-python"].removeprefix(">=")},
        r"\bRust (1\.\d+) or newer": {crate["rust-version"]},
        r"\bIt is version (\S+)\.": {crate["version"]},
    }


def wrong_numbers(sources: Iterable[Source]) -> Iterator[str]:
    right = numbers()
    for one in sources:
        for pattern, values in right.items():
            for found in re.finditer(pattern, one.text):
                if found[1] not in values:
                    yield f"{one.at(found.start())}: {found[0]}: it is {' or '.join(sorted(values))}"


def _number_of_apis() -> int:
    from kafkastore.requests.registry import APIS

    return len(APIS)


def test_each_block_is_on_one_page() -> None:
    found = [block[2] for page in pages() for block in generated.BLOCK.finditer(page.text)]
    assert sorted(found) == sorted(generated.BLOCKS)


def test_blocks_of_pages_are_what_make_docs_writes() -> None:
    report(stale_blocks(pages()))


def test_tree_has_a_sentence_for_each_folder() -> None:
    assert layout.missing() == []


def test_numbers_in_pages_are_those_of_the_tree() -> None:
    assert [one for one in numbers() if not any(re.search(one, page.text) for page in pages())] == []
    report(wrong_numbers(pages()))


def test_each_folder_of_tests_has_a_row() -> None:
    report(rows_without_a_folder(source(ROOT / "docs" / "internals" / "development.md")))


# ---- the programs
def test_block_is_replaced_and_all_around_it_stays() -> None:
    block = "<!-- generated: {}; make docs -->\n{}\n<!-- end -->\n"
    page = "a\n" + block.format("tree", "old\nold") + "b\n" + block.format("x", "X")
    written = generated.filled(page, {"tree": lambda old: old.upper(), "x": lambda _: "new"})
    assert written == page.replace("old", "OLD").replace("X", "new")


def test_block_that_is_old_is_found() -> None:
    page = "\n<!-- generated: {}; make docs -->\nold\n<!-- end -->\n"
    (said,) = stale_blocks([Source("docs/a.md", page.format("tree"))])
    assert said == "docs/a.md:2: the block tree is not what `make docs` writes"
    (said,) = stale_blocks([Source("docs/a.md", page.format("trees"))])
    assert said == "docs/a.md:2: no program writes trees"
    (said,) = stale_blocks([Source("docs/a.md", "<!-- generated: tree; make docs -->\n")])
    assert said == "docs/a.md:1: a generated block has no begin or no end"


def test_number_that_is_not_the_trees_is_found() -> None:
    said = list(
        wrong_numbers([Source("README.md", "\n7 APIs, six Python packages, Rust 1.60 or newer\nPython 3.11 or newer")])
    )
    assert [one.partition(": it is ")[0] for one in said] == [
        "README.md:2: 7 APIs", "README.md:2: six Python packages", "README.md:2: Rust 1.60 or newer"
    ]  # fmt: skip


def test_folder_of_tests_without_a_row_and_row_without_a_folder_are_found() -> None:
    said = list(
        rows_without_a_folder(Source("docs/a.md", "| `tests/units` | a |\n| `tests/unit`, `tests/wire` | b |\n"))
    )
    assert said[0] == "docs/a.md:1: there is no folder tests/units"
    assert "docs/a.md:1: no row says what tests/tidy proves" in said
    assert not any("tests/unit " in one or "tests/wire " in one for one in said)


RECORD = """# The referee

Apache Kafka 4.3.0 (Java 17, 1 GB heap) and kafkastore in turn on two cores, 3 rounds: `make referee`, and a word more.

| scenario | figure | Apache Kafka 4.3.0 | kafkastore | ratio | runs |
|---|---|---|---|---|---|
| startup | s to the first acknowledged produce | ~2.2 | 0.13 | 0.06\N{MULTIPLICATION SIGN} | 1 |
| loaded | RSS MB | ~1,230 | 37 | 0.03\N{MULTIPLICATION SIGN} | 1 |
| small_c1 | p99 ms | | 0.10 | | 1 |
| small_c16 | requests/s | ~59,000 | 348,000 | 5.9\N{MULTIPLICATION SIGN} | 1 |
| small_c16 | CPU s per 10 k | ~0.22 | 0.029 | 0.13\N{MULTIPLICATION SIGN} | 1 |
| p16k_c4 | MB/s | ~433 | 1,732 | 4.0\N{MULTIPLICATION SIGN} | 1 |
| fetch | MB/s | 3,400 | 5,100 | 1.5\N{MULTIPLICATION SIGN} | 1 |
| tail | p99 ms | 6.5 | 0.19 | 0.03\N{MULTIPLICATION SIGN} | 1 |
"""


def test_table_of_figures_is_of_the_newest_record_that_has_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidy.figures.RECORDS", tmp_path)
    for name in ("2026-12-01-referee.md", "2026-12-02-referee.md", "2026-12-02-referee-2.md", "2026-12-03-scan.md"):
        (tmp_path / name).write_text(RECORD)
    (tmp_path / "2026-12-04-referee.md").write_text(RECORD.replace("| fetch |", "| fetch_rand |"))
    (tmp_path / "2026-12-05-referee.md").write_text(RECORD.replace("Apache Kafka 4.3.0 (", "One commit ("))
    record = newest()
    assert record.path.name == "2026-12-02-referee-2.md"
    written = table(record).splitlines()
    assert written[:2] == [
        "One broker beside Apache Kafka 4.3.0 on the same two cores, 2026-12-02, 3 rounds",
        "([record](benches/record/2026-12-02-referee-2.md)):",
    ]
    rates = "| requests of 100 B a second, 16 connections | ~59,000 | 348,000 | 5.9\N{MULTIPLICATION SIGN} |"
    assert rates in written
    assert "| fetch from the page cache | 3,400 MB/s | 5,100 MB/s | 1.5\N{MULTIPLICATION SIGN} |" in written


def test_record_with_a_ratio_of_other_figures_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "2026-12-01-referee.md"
    path.write_text(RECORD.replace("1,732 | 4.0", "1,732 | 4.4").replace("| 37 |", "| |"))
    record = read(path)
    assert record
    assert list(record.faults()) == [
        "2026-12-01-referee.md: no RSS MB of loaded for both brokers",
        "2026-12-01-referee.md: MB/s of p16k_c4: 1,732 is not 4.4\N{MULTIPLICATION SIGN} of ~433",
    ]
