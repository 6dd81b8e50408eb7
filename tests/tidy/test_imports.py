"""Imports of Python point one way, down the layers of docs/architecture.md, which are numbers here: a module imports
from lower ones alone. Imports for types alone count as any other. The layers of Rust are crates: the compiler keeps
them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import kafkastore
from tidy.sources import PYTHON, Source, python_sources, report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pytest

PYTHON_RANKS = {
    "__main__": 24,
    "cli.kafka": 24,
    "cli": 23,
    "console": 22,
    "testing": 22,
    "server": 21,
    "handlers": 20,
    "migration": 20,
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
    "dynamic_config": 11,
    "replica": 10,
    "purgatory": 9,
    "log": 9,
    "producing": 10,
    "consuming": 9,
    "admin": 8,
    "spark.pipeline": 10,
    "spark": 9,
    "loading": 8,
    "scanning": 7,
    "interbroker": 6,
    "metrics": 4,
    "security": 4,
    "metadata": 4,
    "config": 3,
    "internal_topics": 2,
    "topic_names": 2,
    "acl_words": 2,
    "errors": 1,
    "client_log": 1,
    "messages": 1,
    "plain_files": 1,
    "exports": 1,
    "protocol": 0,
    "system": 0,
    "_core": 0,
}
"""Of folders, sub-folders and the files beside them; a folder that is not here has the rank of the one that it is
in."""


def imports_of(one: Source) -> Iterator[tuple[int, str]]:
    """(line, module) of the modules that a file names, inside functions and for types alone included."""
    for node in one.every(ast.ImportFrom):
        assert node.level == 0, f"{one}:{node.lineno}: relative imports hide the layer"
        yield from ((node.lineno, _imported(node.module or "", name.name)) for name in node.names)
    for plain in one.every(ast.Import):
        yield from ((plain.lineno, name.name) for name in plain.names)


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


def module_of(one: Source) -> str:
    parts = one.parts[:-1] if one.stem == "__init__" else (*one.parts[:-1], one.stem)
    return ".".join(("kafkastore", *parts))


def edges_of(sources: Iterable[Source]) -> dict[tuple[str, str], set[str]]:
    """From folder to folder, with the imports that say so; what the package itself hands out is not looked at."""
    found: dict[tuple[str, str], set[str]] = {}
    for one in sources:
        own = folder_of(module_of(one))
        for line, module in imports_of(one) if own else ():
            if module.startswith("kafkastore.") and folder_of(module) != own:
                found.setdefault((own, folder_of(module)), set()).add(f"{one}:{line}: imports {module}")
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


def imports_that_point_up(edges: Mapping[tuple[str, str], set[str]]) -> Iterator[str]:
    for (own, other), names in edges.items():
        if rank_of(other) >= rank_of(own):
            yield from (f"{named}, which is above {own} or beside it" for named in sorted(names))


def test_python_imports_point_down() -> None:
    report(imports_that_point_up(edges_of(python_sources())))


def test_folders_have_no_cycles_between_them() -> None:
    report(cycles_of(edges_of(python_sources())))


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
    assert cycles_of(edges_of(Source(f"python/kafkastore/{name}", text) for name, text in files.items())) == [
        "python/kafkastore/high/sub/b.py:1: imports kafkastore.middle.c",
        "python/kafkastore/low/a.py:3: imports kafkastore.high.sub.b",
        "python/kafkastore/middle/c.py:2: imports kafkastore.low.a",
    ]


def test_no_module_takes_the_place_of_a_public_name() -> None:
    """A module that is imported becomes an attribute of its package: ``kafkastore.topics`` is a function."""
    public = set(kafkastore.__all__)
    modules = {path.stem for path in PYTHON.glob("*.py")} | {path.parent.name for path in PYTHON.glob("*/__init__.py")}
    assert not public & modules
