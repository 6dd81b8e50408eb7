"""Durability that Python code promises: what is on the disk after a power loss, and that each sync is needed for it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

import kafkastore
from unit.durability.power_loss import Disk, Line
from unit.durability.promises import PROMISES, Promise

SOURCES = Path(kafkastore.__file__).parent
SYNCS = {"fsync", "fdatasync", "sync_data", "sync_descriptor", "sync_path"}


def _check(promise: Promise, folder: Path, left_out: Container[Line] = ()) -> None:
    """Keeps the promise in a new folder. Raises AssertionError when a power loss then breaks it."""
    live = folder / "live"
    live.mkdir(parents=True)
    promise.prepare(live)
    before = promise.found(live)
    with pytest.MonkeyPatch.context() as patch, closing(Disk(live, patch, left_out)) as disk:
        promise.keep(live)
        disk.lose_power(folder / "after")
    assert promise.found(live) != before
    assert promise.found(folder / "after") == promise.found(live)
    assert disk.renamed_unsynced == [], "the content must be synced before the file gets its name"


@pytest.mark.parametrize("promise", PROMISES, ids=lambda one: one.name)
def test_promised_files_survive_a_power_loss(promise: Promise, tmp_path: Path) -> None:
    _check(promise, tmp_path)


def _syncs() -> Iterator[tuple[str, Line]]:
    """Each call in the sources that asks for a sync, under a name that tells where it stands."""
    for path in sorted(SOURCES.rglob("*.py")):
        counts: dict[str, int] = {}
        tree = ast.parse(path.read_bytes())
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _is_sync(call):
                    counts[function.name] = counts.get(function.name, 0) + 1
                    name = f"{path.relative_to(SOURCES)}:{function.name}:{counts[function.name]}"
                    yield name, (str(path), call.lineno)


def _is_sync(call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Name):
        return called.id in SYNCS
    is_of_a_mark = isinstance(called, ast.Attribute) and called.attr == "sync" and not call.args
    return is_of_a_mark or (isinstance(called, ast.Attribute) and called.attr in SYNCS)


@pytest.mark.parametrize("line", [pytest.param(line, id=name) for name, line in _syncs()])
def test_sync_that_is_left_out_breaks_a_promise(line: Line, tmp_path: Path) -> None:
    """A sync that is added needs a promise; a promise without its sync needs a test that says so."""
    for number, promise in enumerate(PROMISES):
        with suppress(AssertionError):
            _check(promise, tmp_path / str(number), {line})
            continue
        return
    pytest.fail("no promise is broken without this sync")
