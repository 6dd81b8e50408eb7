"""Handlers against kio's dataclasses of all served versions: the fields of answers, the types of requests (issue 14,
item 4)."""

from __future__ import annotations

import ast
import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tidy import request_types
from tidy.sources import PYTHON, python_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HANDLERS = sorted((PYTHON / "handlers").glob("*.py"))
CONFIGURE = ("alter_configs", "incremental_alter_configs")
SHARED = {"config_changes": CONFIGURE, "forwarding": CONFIGURE}
"""Modules that write rows of other modules' APIs."""

WRITES = {"row", "unwritten_row", "answer"}
RESPONSE = ""
"""Stands for the class of the response itself."""


class Written(NamedTuple):
    """A call that writes a row of a response or the response."""

    path: Path
    line: int
    class_names: list[str]
    fields: set[str]

    def __str__(self) -> str:
        return f"{self.path.relative_to(PYTHON)}:{self.line}"


# ---- what kio's classes have
@cache
def apis() -> dict[str, Any]:
    return {api.module: api for api in request_types.handled_apis()}


@cache
def fields_of(module: str) -> dict[str, dict[int, dict[str, bool]]]:
    """Class of the response -> version -> field -> whether it has to be given."""
    api = apis()[module]
    found = {
        name: {
            version: {field.name: _is_required(field) for field in dataclasses.fields(entity_class)}
            for version, entity_class in versions.items()
        }
        for name, versions in request_types.classes_of(api, "response").items()
    }
    found[RESPONSE] = found[f"{api.name}Response"]
    return found


def _is_required(field: Any) -> bool:
    return field.default is dataclasses.MISSING and field.name != "throttle_time"


# ---- what is written
def written_in(path: Path) -> Iterator[Written]:
    tree = ast.parse(path.read_text())
    encoders = dict(_encoders(tree))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        written_by, verb = ast.unparse(node.func.value), node.func.attr
        if written_by.endswith("context") and verb in WRITES:
            names = [RESPONSE] if verb == "answer" else _texts(tree, node.args[0])
            assert all(one.arg for one in node.keywords), f"{path}:{node.lineno}: fields are named, not unpacked"
            yield Written(path, node.lineno, names, {str(one.arg) for one in node.keywords})
        elif written_by in encoders and verb in ("row", "unwritten"):
            (given,) = node.args
            assert isinstance(given, ast.Dict), f"{path}:{node.lineno}: fields are named where they are written"
            yield Written(
                path, node.lineno, [encoders[written_by]], {ast.literal_eval(key) for key in given.keys if key}
            )


def _encoders(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that an encoder was given, with its class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("context.encoder"):
            (at,) = (one for one in ast.walk(tree) if isinstance(one, ast.Assign) and one.value is node)
            yield ast.unparse(at.targets[0]), ast.literal_eval(node.args[0])


def _texts(tree: ast.Module, argument: ast.expr) -> list[str]:
    """The class that a call names, or those of the variable that it names."""
    values = [argument]
    if isinstance(argument, ast.Name):
        values = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == argument.id
        ]
    branches = [part for one in values for part in ((one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,))]
    assert branches, f"nothing is assigned to {ast.unparse(argument)}"
    return [ast.literal_eval(one) for one in branches]


def _is_written(path: Path) -> bool:
    return next(written_in(path), None) is not None


WRITERS = [path for path in python_files() if "context" in path.read_text() and _is_written(path)]


def _named(path: Path) -> str:
    return path.stem


def _apis_of(path: Path) -> tuple[str, ...]:
    if path.parent.name == "handlers" and path.stem in apis():
        return (path.stem,)
    assert path.stem in SHARED, f"say in SHARED which APIs {path} writes for"
    return SHARED[path.stem]


# ---- answers
@pytest.mark.parametrize("path", WRITERS, ids=_named)
def test_answers_have_only_fields_that_a_served_version_has(path: Path) -> None:
    for module in _apis_of(path):
        classes = fields_of(module)
        for row in written_in(path):
            for name in row.class_names:
                assert name in classes, f"{row}: no served version of {module} has {name}"
                known = {field for version in classes[name].values() for field in version}
                assert row.fields <= known, f"{row}: no version of {name} has {sorted(row.fields - known)}"


@pytest.mark.parametrize("path", WRITERS, ids=_named)
def test_answers_leave_out_no_field_without_a_default(path: Path) -> None:
    for module in _apis_of(path):
        given: dict[str, set[str]] = {}
        for row in written_in(path):
            for name in row.class_names:
                given.setdefault(name, set()).update(row.fields)
        for name, fields in given.items():
            for version, known in fields_of(module)[name].items():
                missing = {field for field, is_required in known.items() if is_required} - fields
                assert not missing, f"{path.stem}: {name or 'the response'} v{version} needs {sorted(missing)}"


def test_every_handler_that_answers_is_looked_at() -> None:
    answering = {path.stem for path in HANDLERS if "-> Unwritten:" in path.read_text()} - set(CONFIGURE)
    assert answering <= {path.stem for path in WRITERS}
    assert sum(1 for path in WRITERS for _ in written_in(path)) > 80


# ---- requests
@pytest.mark.parametrize("module", apis())
def test_handler_names_the_type_of_its_request(module: str) -> None:
    tree = ast.parse((PYTHON / "handlers" / f"{module}.py").read_text())
    (handle,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "handle")
    context, request = (ast.unparse(one.annotation) for one in handle.args.args if one.annotation)
    assert (context, request) == ("RequestContext", f"{apis()[module].name}Request")
    imported = {
        name.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert imported[request] == f"{request_types.STUB}.{module}"


@pytest.mark.parametrize("path", HANDLERS, ids=_named)
def test_no_signature_of_a_handler_says_any(path: Path) -> None:
    tree = ast.parse(path.read_text())
    annotations = [
        annotation
        for node in ast.walk(tree)
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if annotation is not None
    ]
    names = [ast.unparse(one) for one in annotations] + [
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name)
    ]
    assert not [text for text in names if "Any" in text.replace("[", " ").replace("]", " ").replace(",", " ").split()]


@pytest.mark.parametrize("path", HANDLERS, ids=_named)
def test_no_handler_reaches_a_field_past_mypy(path: Path) -> None:
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not {ast.unparse(node.func) for node in calls} & {"getattr", "hasattr", "cast"}


def test_types_of_requests_are_what_make_schema_writes() -> None:
    made = request_types.made()
    assert set(request_types.FOLDER.glob("*.pyi")) | {request_types.VERSIONED_FIELDS} == made.keys()
    for path, text in made.items():
        assert path.read_text() == text, "run `make schema`"
