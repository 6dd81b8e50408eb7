"""Maps in the code are true: the modules that a package's docstring names, files by path."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from tidy.sources import ROOT, Source, other_sources, pages, python_sources, report, rust_sources, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATH = re.compile(
    r"(?<![\w/.*-])(?:rust|python/kafkastore|tests|benches|docs|java|fuzz|demo)/[\w/.-]*[\w/](?!\w*[*{<])"
)
BY_OTHER_NAMES = {"java/ToolServer.java", "java/lang/IllegalArgumentException", "tests/remote.rs"}
"""Beside the file that names it; a class of Java; of the module that the file is the tests of."""
MADE = ("demo/output", "fuzz/artifacts", "python/kafkastore/spark/jars", "tests/proof/record.json")


@cache
def exists(name: str) -> bool:
    return (ROOT / name).exists()


def missing_paths(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in PATH.finditer(one.text):
            name = found[0]
            is_end_of_another = re.match(r"[\w/.*-]", one.text[found.start() - 1 : found.start()])
            if not is_end_of_another and not exists(name) and name not in BY_OTHER_NAMES and not name.startswith(MADE):
                yield f"{one.at(found.start())}: names {name}, which is not there"


def missing_tests(sources: Iterable[Source]) -> Iterator[str]:
    """Of ``FILE::NAME``, where the file is there."""
    for one in sources:
        for found in re.finditer(r"((?:rust|tests)/[\w/.-]+)::(\w+)", one.text):
            name, test = found.groups()
            if exists(name) and not re.search(rf"\b(?:def|fn) {test}\(", (ROOT / name).read_text()):
                yield f"{one.at(found.start())}: {name} has no {test}"


def modules_that_are_not_there(sources: Iterable[Source]) -> Iterator[str]:
    """In the docstrings of packages: ``name``, or ``name.py`` at the begin of a line, is a module or handed out."""
    for one in sources:
        text = ast.get_docstring(one.tree) or "" if one.stem == "__init__" else ""
        folder = (ROOT / one.name).parent
        for name in re.findall(r"``([a-z]\w*)/?``", text) + re.findall(r"^([a-z]\w*)\.py\s", text, re.MULTILINE):
            is_module = (folder / name).is_dir() or (folder / f"{name}.py").exists()
            if not is_module and f'"{name}"' not in one.text and name != "kafkastore":
                yield f"{one}:1: names {name}, which is no module of the package"


def test_docstrings_of_packages_name_modules_that_exist() -> None:
    report(modules_that_are_not_there(python_sources()))


def test_paths_and_tests_in_pages_exist() -> None:
    report(missing_paths(pages()))
    report(missing_tests(pages()))


def test_paths_in_code_and_comments_exist() -> None:
    others = [one for one in other_sources() if not one.name.startswith("tests/tidy/")]
    files = [source(ROOT / name) for name in ("Cargo.toml", "pyproject.toml")]
    report(missing_paths([*python_sources(), *rust_sources(), *others, *files]))
