"""kio entities from plain dicts and lists, for tests that send or check requests.

What a version does not have is dropped and what is not given gets the protocol's default or the type's zero, so that
one table serves every version of an API.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import importlib
import typing
from typing import Any

if typing.TYPE_CHECKING:
    from collections.abc import Mapping


def camel(snake: str) -> str:
    return "".join(part.capitalize() for part in snake.split("_"))


def load(api: str, version: int, direction: str) -> type[Any]:
    """The kio class of one (api, version, "request" or "response")."""
    try:
        module: Any = importlib.import_module(f"kio.schema.{api}.v{version}.{direction}")
    except ModuleNotFoundError:  # Kafka 4 dropped the version, and kio with it
        from kafkastore.interbroker.older_versions import older_module

        module = older_module(api, version, direction)
    wanted = (camel(api) + camel(direction)).lower()
    for name in dir(module):
        if name.lower() == wanted:
            return typing.cast("type[Any]", getattr(module, name))
    raise LookupError(f"kio has no {wanted} v{version}")


_hints_of: dict[type[Any], dict[str, Any]] = {}


def _hints(entity: type[Any]) -> dict[str, Any]:
    if entity not in _hints_of:
        _hints_of[entity] = typing.get_type_hints(entity)
    return _hints_of[entity]


def build(entity: type[Any], given: Mapping[str, Any]) -> Any:
    """An instance of ``entity`` from plain values; unknown names are dropped."""
    values: dict[str, Any] = {}
    for field in dataclasses.fields(entity):
        hint = _hints(entity)[field.name]
        if field.name in given:
            values[field.name] = _convert(hint, given[field.name])
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            values[field.name] = _zero(hint)
    return entity(**values)


def _inner(hint: Any) -> tuple[Any, bool]:
    arguments = typing.get_args(hint)
    if type(None) in arguments:
        return next(a for a in arguments if a is not type(None)), True
    return hint, False


def _convert(hint: Any, value: Any) -> Any:
    inner, _ = _inner(hint)
    if value is None:
        return None
    if typing.get_origin(inner) is tuple:
        element = typing.get_args(inner)[0]
        return tuple(_convert(element, item) for item in value)
    if dataclasses.is_dataclass(inner):
        return build(typing.cast("type[Any]", inner), value)
    if isinstance(inner, type) and issubclass(inner, dt.timedelta):
        return dt.timedelta(milliseconds=value)
    return value


def _zero(hint: Any) -> Any:
    inner, optional = _inner(hint)
    if optional:
        return None
    if typing.get_origin(inner) is tuple:
        return ()
    if isinstance(inner, type) and issubclass(inner, dt.timedelta):
        return dt.timedelta(seconds=30)
    for kind, zero in ((bool, False), (int, 0), (str, ""), (float, 0.0)):
        if isinstance(inner, type) and issubclass(inner, kind):
            return zero
    raise TypeError(f"no zero for {hint}")
