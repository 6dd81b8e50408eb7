"""A reference points to what a reader can open: a page, a KIP, an RFC. Never to the number of an issue or of a rule,
which are kept elsewhere; the comment says the rule in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tidy.sources import PYTHON, ROOT, Source, other_sources, python_sources, report, rust_sources, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ELSEWHERE = re.compile(r"\b(?:[Ii]ssue|[Ss]tyle\s+rules?)[\s/#!]+\d+")
REQUIREMENT = re.compile(r"\bR\d\.\d+\b")


def references_to_what_is_elsewhere(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        is_suspect = "ssue" in one.text or "rule" in one.text
        for found in ELSEWHERE.finditer(one.text) if is_suspect else ():
            yield f"{one.at(found.start())}: say in words what {' '.join(found[0].split())} says"


def numbers_of_requirements(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in REQUIREMENT.finditer(one.text):
            names_tests = "docs/internals/requirements.md names the tests"
            yield f"{one.at(found.start())}: {found[0]}: {names_tests}; here say it in words"


def test_no_comment_names_an_issue_or_a_rule_by_its_number() -> None:
    others = [one for one in other_sources() if one.stem != "test_rules"]
    files = [source(ROOT / name) for name in ("Makefile", "Cargo.toml", "pyproject.toml")]
    report(references_to_what_is_elsewhere([*python_sources(), *rust_sources(), *others, *files]))


def test_no_comment_names_a_requirement_by_its_number() -> None:
    others = [one for one in other_sources() if one.stem != "test_rules"]
    report(numbers_of_requirements([*python_sources(), *rust_sources(), source(PYTHON / "_core.pyi"), *others]))
