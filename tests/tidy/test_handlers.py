"""Handlers against the table of messages, in all served versions: the fields of answers, the types of requests."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import message_fields
from kafkastore.requests.registry import BY_KEY
from tidy.sources import PYTHON, Source, dotted, python_sources, report, source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kafkastore._core import MessageField
    from kafkastore.requests.registry import Api

HANDLERS = [source(path) for path in sorted((PYTHON / "handlers").glob("*.py"))]
CONFIGURE = ("alter_configs", "incremental_alter_configs")
SHARED = {"config_changes": CONFIGURE, "forwarding": CONFIGURE}
"""Modules that write rows of other modules' APIs."""

WRITES = {"row", "unwritten_row", "answer"}
RESPONSE = ""
"""Stands for the response itself."""

TYPES = "kafkastore.protocol"


class Written(NamedTuple):
    """A call that writes a row of a response or the response."""

    at: str
    """``path:line``."""
    class_names: list[str]
    fields: set[str]


# ---- what the table has
@cache
def apis() -> dict[str, Api]:
    """By module, those with a handler."""
    return {api.module: api for api in BY_KEY.values() if (PYTHON / "handlers" / f"{api.module}.py").exists()}


@cache
def fields_of(module: str) -> dict[str, dict[int, dict[str, bool]]]:
    """Struct of the response -> version -> field -> whether it has to be given."""
    api = apis()[module]
    found: dict[str, dict[int, dict[str, bool]]] = {}
    for version in range(api.min_version, api.max_version + 1):
        for name, fields in _structs(f"{api.name}Response", version, RESPONSE):
            found.setdefault(name, {})[version] = {field.name: _is_required(field) for field in fields}
    return found


def _structs(message: str, version: int, name: str) -> Iterator[tuple[str, list[MessageField]]]:
    """A struct and those in it."""
    fields = message_fields(message, version, name or None)
    yield name, fields
    for field in fields:
        if field.struct_name is not None:
            yield from _structs(message, version, field.struct_name)


def _is_required(field: MessageField) -> bool:
    return not field.has_default and field.name != "throttle_time_ms"


# ---- what is written
@cache
def written_in(one: Source) -> list[Written]:
    return list(_written_in(one))


def _written_in(one: Source) -> Iterator[Written]:
    encoders = dict(_encoders(one))
    for node in one.every(ast.Call):
        if not isinstance(node.func, ast.Attribute):
            continue
        at = f"{one}:{node.lineno}"
        written_by, verb = dotted(node.func.value), node.func.attr
        if written_by.endswith("context") and verb in WRITES:
            names = [RESPONSE] if verb == "answer" else _texts(one, node.args[0])
            assert all(given.arg for given in node.keywords), f"{at}: fields are named, not unpacked"
            yield Written(at, names, {str(given.arg) for given in node.keywords})
        elif written_by in encoders and verb in ("row", "unwritten"):
            (row,) = node.args
            assert isinstance(row, ast.Dict), f"{at}: fields are named where they are written"
            yield Written(at, [encoders[written_by]], {ast.literal_eval(key) for key in row.keys if key})


def _encoders(one: Source) -> Iterator[tuple[str, str]]:
    """Names that an encoder was given, with its class."""
    for node in one.every(ast.Call):
        if dotted(node.func).endswith("context.encoder"):
            (at,) = (given for given in one.every(ast.Assign) if given.value is node)
            yield ast.unparse(at.targets[0]), ast.literal_eval(node.args[0])


def _texts(source: Source, argument: ast.expr) -> list[str]:
    """The class that a call names, or those of the variable that it names."""
    values = [argument]
    if isinstance(argument, ast.Name):
        values = [node.value for node in source.every(ast.Assign) if dotted(node.targets[0]) == argument.id]
    branches = [part for one in values for part in ((one.body, one.orelse) if isinstance(one, ast.IfExp) else (one,))]
    assert branches, f"nothing is assigned to {ast.unparse(argument)}"
    return [ast.literal_eval(one) for one in branches]


def writers() -> list[Source]:
    return [one for one in python_sources() if "context" in one.text and written_in(one)]


def _apis_of(one: Source) -> tuple[str, ...]:
    if one.parts[-2:-1] == ("handlers",) and one.stem in apis():
        return (one.stem,)
    assert one.stem in SHARED, f"say in SHARED which APIs {one} writes for"
    return SHARED[one.stem]


# ---- answers
def unknown_fields(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for module in _apis_of(one):
            classes = fields_of(module)
            for row in written_in(one):
                for name in row.class_names:
                    if name not in classes:
                        yield f"{row.at}: no served version of {module} has {name}"
                        continue
                    known = {field for version in classes[name].values() for field in version}
                    if row.fields - known:
                        yield f"{row.at}: no version of {name or 'the response'} has {sorted(row.fields - known)}"


def missing_fields(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for module in _apis_of(one):
            given: dict[str, set[str]] = {}
            for row in written_in(one):
                for name in row.class_names:
                    given.setdefault(name, set()).update(row.fields)
            for name, fields in given.items():
                for version, known in fields_of(module).get(name, {}).items():
                    missing = {field for field, is_required in known.items() if is_required} - fields
                    if missing:
                        yield f"{one}:1: {name or 'the response'} v{version} needs {sorted(missing)}"


def test_answers_have_only_fields_that_a_served_version_has() -> None:
    report(unknown_fields(writers()))


def test_answers_leave_out_no_field_without_a_default() -> None:
    report(missing_fields(writers()))


def test_every_handler_that_answers_is_looked_at() -> None:
    answering = {one.stem for one in HANDLERS if "-> Unwritten:" in one.text} - set(CONFIGURE)
    assert answering <= {one.stem for one in writers()}
    assert sum(len(written_in(one)) for one in writers()) > 80


# ---- requests
def requests_of_other_types(sources: Iterable[Source]) -> Iterator[str]:
    """Of handlers: the type of a request is the one that ``make schema`` writes for the API."""
    for one in sources:
        wanted = f"{apis()[one.stem].name}Request"
        (handle,) = (node for node in one.tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "handle")
        given = [ast.unparse(argument.annotation) for argument in handle.args.args if argument.annotation]
        if given != ["RequestContext", wanted]:
            yield f"{one}:{handle.lineno}: handle takes {given}, not a RequestContext and a {wanted}"
        imported = {name.name: node.module for node in one.every(ast.ImportFrom) for name in node.names}
        if imported.get(wanted) != f"{TYPES}.{one.stem}":
            yield f"{one}:1: {wanted} is that of {TYPES}.{one.stem}"


def signatures_that_say_any(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for node in one.nodes:
            annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
            names = [ast.unparse(annotation) for annotation in annotations if annotation is not None]
            names += [node.id] if isinstance(node, ast.Name) else []
            if any("Any" in re.split(r"[\[\], ]", text) for text in names):
                yield f"{one}:{getattr(node, 'lineno', 1)}: a handler's types are known: no Any"


def ways_past_mypy(sources: Iterable[Source]) -> Iterator[str]:
    for one in sources:
        for node in one.every(ast.Call):
            if dotted(node.func) in {"getattr", "hasattr", "cast"}:
                yield f"{one}:{node.lineno}: no handler reaches a field past mypy with {dotted(node.func)}"


def test_handlers_name_the_types_of_their_requests() -> None:
    report(requests_of_other_types(source(PYTHON / "handlers" / f"{module}.py") for module in apis()))


def test_every_stub_of_a_message_is_imported() -> None:
    imported = {node.module for one in python_sources() for node in one.every(ast.ImportFrom)}
    stubs = (PYTHON / "protocol").glob("*.pyi")
    report(f"{stub}: no module imports it" for stub in stubs if f"{TYPES}.{stub.stem}" not in imported)


def test_no_signature_of_a_handler_says_any() -> None:
    report(signatures_that_say_any(HANDLERS))


def test_no_handler_reaches_a_field_past_mypy() -> None:
    report(ways_past_mypy(HANDLERS))
