"""Files, folders and functions: their size, their names, and how a module opens."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tidy.sources import PYTHON, ROOT, Source, dotted, product_sources, python_sources, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_LINES = 600
MAX_FUNCTION_LINES = 70
FORBIDDEN = {"utils", "util", "common", "helpers", "helper", "shared", "tools", "misc"}


def long_files(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        if len(one.lines) > MAX_LINES:
            yield f"{one}:{len(one.lines)}: a file has at most {MAX_LINES} lines"


def names_that_say_nothing(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for part in FORBIDDEN & {part.removesuffix(".py").removesuffix(".rs") for part in one.name.split("/")}:
            yield f"{one}:1: {part} is no name: say which type, verb or step it is"


def modules_without_a_docstring(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        if one.tree.body and not ast.get_docstring(one.tree):
            yield f"{one}:1: a module opens with what it is, its invariants, what it never does"


def long_functions(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for node in one.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                length = node.end_lineno - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    yield f"{one}:{node.lineno}: {node.name} has {length} lines; at most {MAX_FUNCTION_LINES}"


def logic_in_init_files(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for node in one.tree.body if one.stem == "__init__" else ():
            is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            is_map = (
                isinstance(node, ast.Import | ast.ImportFrom)
                or is_for_types
                or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).lstrip("(").startswith("__"))
            )
            if not (is_docstring or is_map):
                yield f"{one}:{node.lineno}: __init__.py holds a map and re-exports alone, not {ast.unparse(node)[:60]}"


def names_in(one: Source) -> set[str]:
    """Attributes and imported names, as ``os._exit`` and ``unittest.mock.patch``."""
    found = {dotted(node) for node in one.every(ast.Attribute)}
    found |= {f"{node.module}.{name.name}" for node in one.every(ast.ImportFrom) for name in node.names}
    return found | {name.name for node in one.every(ast.Import) for name in node.names}


def ends_of_the_process(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        if "os._exit" in names_in(one) and one.name != "python/kafkastore/cli/ending.py":
            yield f"{one}:1: os._exit stands in cli/ending.py alone"


def patches(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for name in sorted(names_in(one)):
            if name.startswith(("unittest", "pytest.MonkeyPatch")):
                yield f"{one}:1: {name}: the simulator patches nothing; the bugs that it plants are in planted.rs"


def test_no_file_is_longer_than_can_be_read() -> None:
    report(long_files(product_sources()))


def test_no_file_or_folder_is_named_after_nothing() -> None:
    report(names_that_say_nothing(product_sources()))


def test_modules_say_what_they_are() -> None:
    report(modules_without_a_docstring(python_sources()))


def test_functions_are_short() -> None:
    report(long_functions(python_sources()))


def test_init_files_hold_no_logic() -> None:
    report(logic_in_init_files(python_sources()))


def test_nothing_but_the_command_ends_the_process_at_once() -> None:
    report(ends_of_the_process(python_sources()))
    assert "os._exit" in names_in(source(PYTHON / "cli" / "ending.py"))


def test_simulator_patches_nothing() -> None:
    sources = [source(path) for path in sorted((ROOT / "tests" / "simulator").glob("*.py"))]
    assert len(sources) > 10
    report(patches(sources))


def test_every_served_control_plane_api_has_a_handler_of_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "python"))
    from kafkastore.requests.registry import APIS

    control = [api for api in APIS if api.plane == "control"]
    assert control
    report(
        f"python/kafkastore/handlers/{api.module}.py:1: {api.name} is served, and has no handler of its name"
        for api in control
        if not (PYTHON / "handlers" / f"{api.module}.py").exists()
    )
