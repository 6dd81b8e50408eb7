"""The project's own files, each read and parsed once, for the rules that look at them.

A rule is a function that takes sources and gives a sentence for each violation, ``path:line: sentence``; its test is
one ``report(rule(sources))``, which prints all of them. ``test_rules.py`` plants a violation of each.
"""

from __future__ import annotations

import ast
import gc
import re
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "python" / "kafkastore"
RUST = ROOT / "rust"

Node = TypeVar("Node", bound=ast.AST)


class Source:
    """One file. ``name`` is its path below the root of the project."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text

    def __str__(self) -> str:
        return self.name

    @property
    def parts(self) -> tuple[str, ...]:
        """Of its path below ``python/kafkastore`` or ``rust``; elsewhere below the root."""
        for top in (PYTHON, RUST):
            folder = f"{top.relative_to(ROOT)}/"
            if self.name.startswith(folder):
                return tuple(self.name.removeprefix(folder).split("/"))
        return tuple(self.name.split("/"))

    @property
    def stem(self) -> str:
        return Path(self.name).stem

    @property
    def is_rust_test(self) -> bool:
        """Unit tests stand beside their module as ``tests.rs`` or in a folder ``tests``."""
        return self.stem.endswith("tests") or "tests" in self.parts[:-1]

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    def every(self, kind: type[Node]) -> list[Node]:
        """The nodes of a type, in the order of ``ast.walk``."""
        return self._by_type.get(kind, [])  # type: ignore[return-value]

    @cached_property
    def _by_type(self) -> dict[type[ast.AST], list[ast.AST]]:
        found: dict[type[ast.AST], list[ast.AST]] = {}
        for node in self.nodes:
            found.setdefault(type(node), []).append(node)
        return found

    @cached_property
    def code(self) -> str:
        """Rust with blanks in place of its comments."""
        return re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    def at(self, position: int) -> str:
        """``path:line`` of a place in the text or in the code."""
        line = self.text.count("\n", 0, position) + 1
        return f"{self.name}:{line}"


@cache
def source(path: Path) -> Source:
    return Source(str(path.relative_to(ROOT)), path.read_text())


@cache
def python_sources() -> tuple[Source, ...]:
    """Parsed already, without the garbage collector: it would take two thirds of the time."""
    sources = tuple(map(source, python_files()))
    gc.disable()
    try:
        for one in sources:
            assert one.nodes
    finally:
        gc.enable()
        gc.freeze()
    return sources


@cache
def rust_sources() -> tuple[Source, ...]:
    return tuple(map(source, rust_files()))


@cache
def python_files() -> tuple[Path, ...]:
    return tuple(sorted(PYTHON.rglob("*.py")))


@cache
def rust_files() -> tuple[Path, ...]:
    return tuple(sorted(RUST.rglob("*.rs")))


def pages() -> list[Source]:
    """The README and all below ``docs``."""
    return [source(ROOT / "README.md"), *map(source, sorted((ROOT / "docs").rglob("*.md")))]


@cache
def other_sources() -> tuple[Source, ...]:
    """Code that no broker runs: tests, benches, the demo, the source for Spark in Java; and the stub of ``_core``."""
    folders = (("tests", "py rs go java"), ("benches", "py rs go"), ("demo", "py"), ("java", "java"), ("fuzz", "rs"))
    paths = [path for folder, kinds in folders for kind in kinds.split() for path in (ROOT / folder).rglob(f"*.{kind}")]
    paths = [path for path in paths if "target" not in path.relative_to(ROOT).parts]
    return tuple(map(source, [*sorted(paths), PYTHON / "_core.pyi"]))


def product_sources() -> list[Source]:
    """What runs in a broker: the Python package, and Rust without its tests."""
    return [*python_sources(), *(one for one in rust_sources() if not one.is_rust_test)]


def dotted(node: ast.AST) -> str:
    """``a.b.c`` of a name or an attribute, ``….c`` of an attribute of another expression, else "". ``ast.unparse`` is
    far slower."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value) or '…'}.{node.attr}"
    return ""


def report(violations: Iterable[str]) -> None:
    """Fails with a line for each violation."""
    found = list(violations)
    assert not found, "\n".join(["", *found])
