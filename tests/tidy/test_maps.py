"""Maps in the code are true: the modules of the crate, the modules that a package's docstring names, files by path."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tidy.sources import PYTHON, ROOT, RUST, Source, python_sources, report, rust_sources, source
from tidy.test_imports import uses_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FOLDERS = (("tests", "py rs go java"), ("benches", "py rs go"), ("demo", "py"), ("java", "java"), ("fuzz", "rs"))
PATH = re.compile(
    r"(?<![\w/.*-])(?:rust|python/kafkastore|tests|benches|docs|java|fuzz|demo)/[\w/.-]*[\w/](?!\w*[*{<])"
)
BY_OTHER_NAMES = {"java/ToolServer.java", "java/lang/IllegalArgumentException", "tests/remote.rs"}
"""Beside the file that names it; a class of Java; of the module that the file is the tests of."""
MADE = ("demo/output", "python/kafkastore/spark/jars")


def missing_paths(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for found in PATH.finditer(one.text):
            name = found[0]
            if not (ROOT / name).exists() and name not in BY_OTHER_NAMES and not name.startswith(MADE):
                yield f"{one.at(found.start())}: names {name}, which is not there"


def modules_that_are_not_there(sources: Iterable[Source]) -> Iterator[str]:
    """In the docstrings of packages: ``name``, or ``name.py`` at the begin of a line, is a module or handed out."""
    for one in sources:
        text = ast.get_docstring(one.tree) or "" if one.stem == "__init__" else ""
        folder = (ROOT / one.name).parent
        for name in re.findall(r"``([a-z]\w*)/?``", text) + re.findall(r"^([a-z]\w*)\.py\s", text, re.MULTILINE):
            is_module = (folder / name).is_dir() or (folder / f"{name}.py").exists()
            if not is_module and f'"{name}"' not in one.text and name != "kafkastore":
                yield f"{one}:1: names {name}, which is no module of the package"


def faults_of_the_map(lib: Source, sources: Iterable[Source]) -> Iterator[str]:
    """Of ``rust/lib.rs``: it has each module of the crate once, and imports point to what stands before."""
    comment = " ".join(line.removeprefix("//!") for line in lib.lines if line.startswith("//!"))
    named = re.findall(r"`(\w+)`", comment)
    modules = re.findall(r"^(?:pub )?mod (\w+);", lib.text, re.MULTILINE)
    if sorted(named) != sorted(modules):
        yield f"{lib}:1: the map and the modules differ in {sorted(set(named) ^ set(modules))}"
    for one in sources:
        own = one.parts[0].removesuffix(".rs")
        for position, used in uses_of(one) if own in named and not one.is_rust_test else ():
            if used in named and named.index(used) > named.index(own):
                yield f"{one.at(position)}: {own} uses {used}, which stands behind it in the map of rust/lib.rs"


def test_map_of_the_crate_has_its_modules_in_the_order_of_imports() -> None:
    report(faults_of_the_map(source(RUST / "lib.rs"), rust_sources()))


def test_docstrings_of_packages_name_modules_that_exist() -> None:
    report(modules_that_are_not_there(python_sources()))


def test_paths_in_code_and_comments_exist() -> None:
    kinds = [(folder, kind) for folder, all_kinds in FOLDERS for kind in all_kinds.split()]
    others = [path for folder, kind in kinds for path in (ROOT / folder).rglob(f"*.{kind}")]
    others += [ROOT / "Cargo.toml", ROOT / "pyproject.toml", PYTHON / "_core.pyi"]
    files = [source(path) for path in others if "target" not in path.parts and path.parent.name != "tidy"]
    report(missing_paths([*python_sources(), *rust_sources(), *files]))
