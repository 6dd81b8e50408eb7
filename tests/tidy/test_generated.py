"""What programs write into the pages is what stands there, and the numbers in their prose are those of the tree."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from tidy import generated, layout
from tidy.figures import RECORDS, newest, read, table
from tidy.sources import ROOT, Source, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
TEST_FOLDERS_WITHOUT_A_ROW = {"fixtures", "peer", "proof"}
"""Files and programs that tests use, and the scope of a run."""


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


def wrong_numbers(sources: Iterable[Source]) -> Iterator[str]:
    """Numbers that a page says of this tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    crate = tomllib.loads((ROOT / "Cargo.toml").read_text())["package"]
    installed = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if re.match(r"\w", line)]
    right = {
        r"\b(\d+) APIs\b": {str(_number_of_apis())},
        r"\b(\w+) Python packages\b": {WORDS[len(project["dependencies"])], WORDS[len(installed)]},
        r"\bPython (3\.\d+) or newer": {project["requires-python"].removeprefix(">=")},
        r"\bRust (1\.\d+) or newer": {crate["rust-version"]},
        r"\bIt is version (\S+)\.": {crate["version"]},
    }
    for one in sources:
        for pattern, values in right.items():
            for found in re.finditer(pattern, one.text):
                if found[1] not in values:
                    yield f"{one.at(found.start())}: {found[0]}: it is {' or '.join(sorted(values))}"


def _number_of_apis() -> int:
    from kafkastore.requests.registry import APIS

    return len(APIS)


def test_blocks_of_pages_are_what_make_docs_writes() -> None:
    report(stale_blocks(map(source, generated.pages_with_blocks())))


def test_tree_has_a_sentence_for_each_folder() -> None:
    assert layout.missing() == []


def test_numbers_in_the_readme_are_those_of_the_tree() -> None:
    report(wrong_numbers([source(ROOT / "README.md")]))


def test_each_folder_of_tests_has_a_row() -> None:
    rows = set(re.findall(r"^\| `tests/(\w+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE))
    folders = {one.name for one in (ROOT / "tests").iterdir() if one.is_dir() and one.name[0] not in "._"}
    assert rows == folders - TEST_FOLDERS_WITHOUT_A_ROW


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


RECORD = """# a1b2c3d

2 cores of A Processor, Linux 6.1, Python 3.11.7. Brokers in turn, 3 rounds, medians.
Apache Kafka 4.3.0, 1 GB heap. Ratio: ours / Apache Kafka's; ↑ higher is better, ↓ lower.

| scenario | figure | kafka | kafkastore | ratio |
|---|---|---:|---:|---:|
"""


def test_table_of_figures_says_the_date_and_the_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (RECORDS / "2026-11-22.md").read_text().partition("|---:|\n")[2]
    monkeypatch.setattr("tidy.figures.RECORDS", tmp_path)
    for name in ("2026-12-01.md", "2026-12-02.md", "2026-12-02-2.md", "2026-12-03-scan.md"):
        (tmp_path / name).write_text(RECORD + rows)
    (tmp_path / "2026-12-04.md").write_text(RECORD + rows.replace("p16k_all", "p16k_none"))
    path = newest()
    assert path.name == "2026-12-02-2.md"
    assert read(path).rounds == "3"
    written = table(path).splitlines()
    assert written[1] == "rounds, [2026-12-02](benches/record/2026-12-02-2.md):"
    assert "| requests of 100 B, 4 connections | 28,817/s | 133,060/s | 4.6\N{MULTIPLICATION SIGN} |" in written
    assert "| resident memory after the start | 376 MB | 25 MB | 0.07\N{MULTIPLICATION SIGN} |" in written
