"""Imports point one way (style rule 2; the layers of the architecture). Imports for types alone count as any other.

Python: cli → server → handlers, membership → requests → coordinator → controller → topics → configuration → replica →
purgatory, log → interbroker → metadata, metrics, security → config → errors; _core under all. Rust: py → net → broker →
storage → index → record → io; wire under broker and net; error under all.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

import kafkastore
from tidy.sources import PYTHON, RUST, is_rust_test, python_files, rust_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

PYTHON_RANKS = {
    "cli": 22,
    "console": 22,
    "testing": 22,
    "server": 21,
    "handlers": 20,
    "membership": 19,
    "requests": 18,
    "coordinator": 17,
    "coordinator.group.classic": 16,
    "coordinator.group": 15,
    "coordinator.transaction": 15,
    "coordinator.runtime": 14,
    "controller": 13,
    "topic": 12,
    "authorization": 10,
    "configuration": 11,
    "replica": 10,
    "purgatory": 9,
    "log": 9,
    "admin": 8,
    "spark.pipeline": 10,
    "spark": 9,
    "loading": 8,
    "scanning": 7,
    "interbroker": 6,
    "interbroker.schema": 5,
    "metrics": 4,
    "security": 4,
    "metadata": 4,
    "config": 3,
    "internal_topics": 2,
    "errors": 1,
    "client_log": 1,
    "plain_files": 1,
    "exports": 1,
    "_core": 0,
}
"""Of folders, sub-folders and the files beside them; a folder that is not here has the rank of the one that it is
in."""

RUST_RANKS = {
    "py": 11,
    "jni": 11,
    "net": 10,
    "coordinator": 9,
    "broker": 8,
    "spark": 9,
    "producer": 9,
    "scan": 8,
    "values": 7,
    "load": 8,
    "storage": 7,
    "index": 6,
    "record": 5,
    "wire": 4,
    "client": 1,
    "io": 3,
    "error": 1,
    "place": 0,
}


def imports_of(path: Path) -> Iterator[str]:
    """Modules that a file names, inside functions and for types alone included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide the layer"
            yield from (_imported(node.module or "", name.name) for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def _imported(module: str, name: str) -> str:
    """``name`` is a module of the folder ``module``, or something in the module."""
    folder = PYTHON.joinpath(*module.split(".")[1:])
    is_module = module == "kafkastore" or (folder / f"{name}.py").exists() or (folder / name).is_dir()
    return f"{module}.{name}" if is_module else module


def folder_of(module: str) -> str:
    """Below ``kafkastore``: the folder that a module is in; of a module beside the folders, its own name."""
    parts = module.split(".")[1:]
    if not PYTHON.joinpath(*parts).is_dir() and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def rank_of(folder: str) -> int:
    named = folder
    while named not in PYTHON_RANKS:
        named, dot, _ = named.rpartition(".")
        assert dot, f"{folder} has no layer: give it one in the architecture and here"
    return PYTHON_RANKS[named]


def module_of(path: Path) -> str:
    parts = path.relative_to(PYTHON).with_suffix("").parts
    return ".".join(("kafkastore", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def edges_of(files: Iterable[Path]) -> dict[tuple[str, str], set[str]]:
    """From folder to folder, with the imports that say so; what the package itself hands out is not looked at."""
    found: dict[tuple[str, str], set[str]] = {}
    for path in files:
        own = folder_of(module_of(path))
        for module in imports_of(path) if own else ():
            if module.startswith("kafkastore.") and folder_of(module) != own:
                named = f"{path.relative_to(PYTHON)} imports {module}"
                found.setdefault((own, folder_of(module)), set()).add(named)
    return found


def cycles_of(edges: Mapping[tuple[str, str], set[str]]) -> list[str]:
    """The imports between two folders of which each reaches the other."""
    reached: dict[str, set[str]] = {}
    for own, other in edges:
        reached.setdefault(own, set()).add(other)
    for middle in list(reached):  # Warshall
        for folders in reached.values():
            if middle in folders:
                folders |= reached[middle]  # noqa: PLW2901 - in place
    return sorted(named for (own, other), names in edges.items() if own in reached.get(other, ()) for named in names)


EDGES = edges_of(python_files())


@pytest.mark.parametrize("folder", sorted({own for own, _ in EDGES}))
def test_python_imports_point_down(folder: str) -> None:
    above = [
        named
        for (own, other), names in EDGES.items()
        if own == folder and rank_of(other) >= rank_of(own)
        for named in names
    ]
    assert not above, "imports of what is above or beside"


def test_folders_have_no_cycles_between_them() -> None:  # issue 14, item 3
    assert cycles_of(EDGES) == []


def test_import_for_types_alone_counts_and_makes_a_cycle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidy.test_imports.PYTHON", tmp_path)
    files = {
        "low/a.py": "from __future__ import annotations\nif TYPE_CHECKING:\n    from kafkastore.high.sub.b import B\n",
        "high/sub/b.py": "from kafkastore.middle import c\nclass B: ...\n",
        "middle/c.py": "def f() -> None:\n    import kafkastore.low.a\n",
        "high/d.py": "from kafkastore.high.sub.b import B\nfrom kafkastore.low.a import A\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cycles_of(edges_of([tmp_path / name for name in files])) == [
        "high/sub/b.py imports kafkastore.middle.c",
        "low/a.py imports kafkastore.high.sub.b",
        "middle/c.py imports kafkastore.low.a",
    ]


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
def test_unsafe_stands_only_in_io_and_py_and_each_binding_in_its_folder(path: Path) -> None:  # style rules 17 and 24
    own = path.relative_to(RUST).parts[0].removesuffix(".rs")
    code = re.sub(r"//[^\n]*", "", path.read_text())
    if own not in ("io", "py"):
        assert not re.search(r"\bunsafe\s*(\{|fn|impl)", code), f"unsafe in {path.relative_to(RUST)}"
    if own not in ("py", "lib"):
        assert "pyo3" not in code, f"pyo3 in {path.relative_to(RUST)}"
    if own != "jni":
        assert "jni::" not in code, f"jni in {path.relative_to(RUST)}"
        assert "no_mangle" not in code, f"an exported name in {path.relative_to(RUST)}"


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """A module that is imported becomes an attribute of its package: ``kafkastore.topics`` is a function."""
    public = set(kafkastore.__all__)
    modules = {path.stem for path in PYTHON.glob("*.py")} | {path.parent.name for path in PYTHON.glob("*/__init__.py")}
    assert not public & modules
