"""Writes what handlers need to know of kio's dataclasses over all served versions (``make schema``).

``interbroker/request_types/*.pyi``: the types of requests. The versions of an entity (a request, or a part of one) that
have the same fields are one class; a field that may be null in one of them may be null in the class. ``since.pyi`` has
an overload for each version in which an entity changes. ``interbroker/versioned_fields.py``: the fields of responses
that not every version has.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin

from tidy.sources import PYTHON, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = PYTHON / "interbroker" / "request_types"
VERSIONED_FIELDS = PYTHON / "interbroker" / "versioned_fields.py"
STUB = "kafkastore.interbroker.request_types"

PLAIN = (
    (bool, "bool"),
    (int, "int"),
    (float, "float"),
    (str, "str"),
    (bytes, "bytes"),
    (uuid.UUID, "UUID"),
    (dt.timedelta, "timedelta"),
    (dt.datetime, "datetime"),
)
"""What the classes of kio's fields are to a reader, the first that fits."""


class Era(NamedTuple):
    """Neighbouring versions of an entity that have the same fields."""

    first: int
    last: int
    fields: dict[str, str]
    """The type of each."""


class Entity(NamedTuple):
    """A request, or a part of one, over all versions that are served."""

    name: str
    eras: list[Era]

    def class_of(self, era: Era) -> str:
        return self.name if len(self.eras) == 1 else f"{self.name}V{era.first}"


# ---- kio's dataclasses
def handled_apis() -> list[Any]:
    """Those with a handler."""
    from kafkastore.requests.registry import BY_KEY

    return [api for api in BY_KEY.values() if (PYTHON / "handlers" / f"{api.module}.py").exists()]


def classes_of(api: Any, direction: str) -> dict[str, dict[int, type[Any]]]:
    """By name and version."""
    from kafkastore.requests.context import schema_class

    found: dict[str, dict[int, type[Any]]] = {}
    for version in range(api.min_version, api.max_version + 1):
        for entity_class in _parts_first(schema_class(api, version, direction)):
            found.setdefault(entity_class.__name__, {})[version] = entity_class
    return found


def _parts_first(entity_class: type[Any]) -> Iterator[type[Any]]:
    for field in dataclasses.fields(entity_class):
        for part in _classes_in(field.type):
            yield from _parts_first(part)
    yield entity_class


def _classes_in(annotation: Any) -> Iterator[type[Any]]:
    if dataclasses.is_dataclass(annotation):
        yield annotation  # type: ignore[misc]
    for argument in get_args(annotation):
        yield from _classes_in(argument)


def entities_of(api: Any) -> list[Entity]:
    return [Entity(name, _eras(versions)) for name, versions in classes_of(api, "request").items()]


def _eras(versions: dict[int, type[Any]]) -> list[Era]:
    eras: list[Era] = []
    for version, entity_class in sorted(versions.items()):
        fields = {field.name: _type(field.type) for field in dataclasses.fields(entity_class)}
        if eras and eras[-1].last == version - 1 and eras[-1].fields.keys() == fields.keys():
            before = eras.pop()
            fields = {name: _either(before.fields[name], text) for name, text in fields.items()}
            eras.append(Era(before.first, version, fields))
        else:
            eras.append(Era(version, version, fields))
    return eras


def _type(annotation: Any) -> str:
    if get_origin(annotation) in (Union, UnionType):
        (inner,) = (one for one in get_args(annotation) if one is not NoneType)
        return f"{_type(inner)} | None"
    if get_origin(annotation) is tuple:
        return f"tuple[{_type(get_args(annotation)[0])}, ...]"
    if dataclasses.is_dataclass(annotation):
        return annotation.__name__  # type: ignore[union-attr]
    return next(text for known, text in PLAIN if issubclass(annotation, known))


def _either(one: str, other: str) -> str:
    inner = one.removesuffix(" | None")
    assert inner == other.removesuffix(" | None"), f"{one} became {other}: it needs an era of its own"
    return max(one, other, key=len)


# ---- the stubs
def stub_of(api: Any) -> str:
    entities = entities_of(api)
    versions = str(api.min_version) if api.min_version == api.max_version else f"{api.min_version} to {api.max_version}"
    body = "\n".join(_entity(entity) for entity in entities)
    imports = ["from dataclasses import dataclass"]
    imports += ["from datetime import timedelta"] if "timedelta" in body else []
    imports += ["from typing import TypeAlias, final"] if "TypeAlias" in body else ["from typing import final"]
    imports += ["from uuid import UUID"] if "UUID" in body else []
    head = f'"""Requests of {api.name}, versions {versions}; made by ``make schema``, see ``__init__.py``."""'
    return "\n\n".join([head, "\n".join(imports), body])


def _entity(entity: Entity) -> str:
    lines: list[str] = []
    for era in entity.eras:
        versions = f"Version {era.first}." if era.first == era.last else f"Versions {era.first} to {era.last}."
        lines += ["@final", "@dataclass(frozen=True, kw_only=True)", f"class {entity.class_of(era)}:"]
        lines += [f'    """{versions}"""', "", *(f"    {name}: {text}" for name, text in era.fields.items()), ""]
    if len(entity.eras) > 1:
        lines += [f"{entity.name}: TypeAlias = {' | '.join(map(entity.class_of, entity.eras))}", ""]
    return "\n".join(lines)


def since_stub() -> str:
    imports: list[str] = []
    overloads: list[str] = []
    for api in sorted(handled_apis(), key=lambda one: one.module):
        for entity in entities_of(api):
            if len(entity.eras) > 1:
                imports.append(api.module)
            for place, era in enumerate(entity.eras[1:], start=1):
                later = " | ".join(f"{api.module}.{entity.class_of(one)}" for one in entity.eras[place:])
                overloads += [
                    "@overload",
                    f"def since(entity: {api.module}.{entity.name}, version: Literal[{era.first}]) -> TypeIs[{later}]: "
                    "...",
                ]
    return "\n".join(
        [
            '"""Types of ``since.py``; made by ``make schema``, see ``__init__.py``."""',
            "",
            "from typing import Literal, overload",
            "",
            "from typing_extensions import TypeIs",
            "",
            f"from {STUB} import {', '.join(sorted(set(imports)))}",
            "",
            *overloads,
        ]
    )


# ---- the table
def versioned_fields_of(api: Any) -> dict[str, list[str]]:
    """Of each class of the responses."""
    found: dict[str, list[str]] = {}
    for name, versions in classes_of(api, "response").items():
        names = [[field.name for field in dataclasses.fields(entity_class)] for entity_class in versions.values()]
        every = list(dict.fromkeys(one for version in names for one in version))
        some = [one for one in every if not all(one in version for version in names)]
        if some:
            found[name] = some
    return found


def table() -> str:
    lines = [
        '"""Fields of responses that not every served version has: a handler gives them to all.'
        ' Made by ``make schema``."""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Final",
        "",
        "VERSIONED_FIELDS: Final[dict[str, dict[str, tuple[str, ...]]]] = {",
    ]
    for api in sorted(handled_apis(), key=lambda one: one.module):
        fields = versioned_fields_of(api)
        if fields:
            lines.append(f'    "{api.module}": {{')
            lines += [f'        "{name}": {tuple(names)!r},' for name, names in fields.items()]
            lines.append("    },")
    return "\n".join([*lines, "}", '"""By the API\'s module and the class."""', ""])


# ---- files
def formatted(texts: dict[Path, str]) -> dict[Path, str]:
    """By one run of ruff."""
    ruff = Path(sys.executable).parent / "ruff"
    with tempfile.TemporaryDirectory() as folder:
        copies = {path: Path(folder, f"{number}{path.suffix}") for number, path in enumerate(texts)}
        for path, copy in copies.items():
            copy.write_text(texts[path])
        subprocess.run(
            [ruff, "format", "--quiet", "--no-cache", "--config", ROOT / "pyproject.toml", folder], check=True
        )
        return {path: copy.read_text() for path, copy in copies.items()}


def made() -> dict[Path, str]:
    """Every file that ``make schema`` writes."""
    texts = {FOLDER / f"{api.module}.pyi": stub_of(api) for api in handled_apis()}
    return formatted(texts | {FOLDER / "since.pyi": since_stub(), VERSIONED_FIELDS: table()})


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "python"))
    files = made()
    for old in set(FOLDER.glob("*.pyi")) - files.keys():
        old.unlink()
    for path, text in files.items():
        path.write_text(text)
