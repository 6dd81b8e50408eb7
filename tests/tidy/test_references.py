"""A reference points to what a reader can open: a page, a KIP, an RFC. Never to the number of an issue or of a rule,
which are kept elsewhere; the comment says the rule in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.sources import PYTHON, ROOT, Source, python_sources, report, rust_sources, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELSEWHERE = re.compile(r"\b(?:issue|style\s+rules?)[\s/#!]+\d+", re.IGNORECASE)
REQUIREMENT = re.compile(r"\bR\d\.\d+\b")
FOLDERS = (("tests", "py rs go java"), ("benches", "py rs go"), ("demo", "py"), ("java", "java"), ("fuzz", "rs"))


def references_to_what_is_elsewhere(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in ELSEWHERE.finditer(one.text):
            yield f"{one.at(found.start())}: say in words what {' '.join(found[0].split())} says"


def numbers_of_requirements(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in REQUIREMENT.finditer(one.text):
            yield f"{one.at(found.start())}: no reader can open {found[0]}: say it in words"


def test_no_comment_names_an_issue_or_a_rule_by_its_number() -> None:
    kinds = [(folder, kind) for folder, all_kinds in FOLDERS for kind in all_kinds.split()]
    paths = [
        path for folder, kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}") if "target" not in path.parts
    ]
    paths += [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "Cargo.toml", PYTHON / "_core.pyi"]
    files = [source(path) for path in paths if path.name != "test_rules.py"]
    report(references_to_what_is_elsewhere([*python_sources(), *rust_sources(), *files]))


def test_no_comment_of_the_package_names_a_requirement_by_its_number() -> None:
    """Rust and the tests still have some."""
    tidy = [source(path) for path in (ROOT / "tests" / "tidy").glob("*.py") if path.name != "test_rules.py"]
    report(numbers_of_requirements([*python_sources(), source(PYTHON / "_core.pyi"), *tidy]))
