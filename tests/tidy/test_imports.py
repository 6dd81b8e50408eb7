"""Imports point one way (style rule 2; the layers of the architecture).

Python: cli → server → handlers → coordinator, controller → replica → purgatory → log → _core, over interbroker and the
leaves config, metadata, metrics, security, and errors under all. Rust: py → net → broker → storage → index → record → io;
wire under broker and net; error under all.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from tidy.sources import PYTHON, RUST, is_rust_test, python_files, rust_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PYTHON_RANKS = {
    "cli": 10,
    "console": 10,
    "admin": 8,
    "testing": 10,
    "server": 9,
    "handlers": 8,
    "coordinator": 7,
    "controller": 7,
    "replica": 6,
    "purgatory": 5,
    "log": 4,
    "interbroker": 3,
    "scanning": 3,
    "spark": 4,
    "config": 2,
    "metadata": 2,
    "metrics": 2,
    "security": 2,
    "errors": 1,
    "client_log": 1,
    "plain_files": 1,
    "exports": 1,
    "_core": 0,
}
HANDLERS_ARE_GIVEN = {"kafkastore.server.context", "kafkastore.server.topic_plans", "kafkastore.server.dynamic_configs"}
"""What server hands to a handler, whose code names it: the request's context, topic administration, configuration."""

RUST_RANKS = {
    "py": 11,
    "net": 10,
    "coordinator": 9,
    "broker": 8,
    "scan": 8,
    "storage": 7,
    "index": 6,
    "record": 5,
    "wire": 4,
    "io": 3,
    "error": 1,
}


def imports_of(path: Path) -> Iterator[str]:
    """Modules that a file imports when it runs, inside functions included; those for types alone do not count."""
    todo: list[ast.AST] = [ast.parse(path.read_text())]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            module = node.module or ""
            yield from [f"{module}.{name.name}" for name in node.names] if module == "kafkastore" else [module]
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        todo += ast.iter_child_nodes(node)


@pytest.mark.parametrize("path", python_files(), ids=lambda path: str(path.relative_to(PYTHON)))
def test_python_imports_point_down(path: Path) -> None:
    relative = path.relative_to(PYTHON)
    own = relative.parts[0].removesuffix(".py")
    if own == "__init__":
        return
    assert own in PYTHON_RANKS, f"{own} has no layer: give it one in the architecture and here"
    for module in imports_of(path):
        parts = module.split(".")
        if parts[0] != "kafkastore" or len(parts) < 2 or parts[1] == own:
            continue
        if own == "handlers" and module in HANDLERS_ARE_GIVEN:
            continue
        assert PYTHON_RANKS[parts[1]] < PYTHON_RANKS[own], f"{relative} imports {module}, which is above or beside it"


@pytest.mark.parametrize("path", rust_files(), ids=lambda path: str(path.relative_to(RUST)))
def test_rust_imports_point_down(path: Path) -> None:
    relative = path.relative_to(RUST)
    own = relative.parts[0].removesuffix(".rs")
    if own == "lib" or is_rust_test(path):
        return
    assert own in RUST_RANKS, f"{own} has no layer: give it one in the architecture and here"
    code = re.sub(r"//[^\n]*", "", path.read_text())
    used = set(re.findall(r"\bcrate::([a-z_]+)", code))
    for group in re.findall(r"\bcrate::\{([^}]*)\}", code):
        used |= set(re.findall(r"(?:^|,)\s*([a-z_]+)", group))
    for module in used & RUST_RANKS.keys() - {own}:
        assert RUST_RANKS[module] < RUST_RANKS[own], f"{relative} uses crate::{module}, which is above it"


@pytest.mark.parametrize("path", rust_files(), ids=lambda path: str(path.relative_to(RUST)))
def test_unsafe_stands_only_in_io_and_py_and_pyo3_only_in_py(path: Path) -> None:  # style rules 17 and 24
    own = path.relative_to(RUST).parts[0].removesuffix(".rs")
    code = re.sub(r"//[^\n]*", "", path.read_text())
    if own not in ("io", "py"):
        assert not re.search(r"\bunsafe\s*(\{|fn|impl)", code), f"unsafe in {path.relative_to(RUST)}"
    if own not in ("py", "lib"):
        assert "pyo3" not in code, f"pyo3 in {path.relative_to(RUST)}"
