"""Messages from plain values, in any version, and messages as plain values.

What a version does not have is dropped and what is not given gets the protocol's default or its type's zero, so that
one table serves every version of an API.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkastore._core import (
    MessageField,
    UnknownFieldError,
    decode_response,
    message_encoder,
    message_fields,
    message_type,
)
from kafkastore.requests.registry import Api

TIMEOUT_MS = 30_000
"""The value of a time that must be given."""

_ZEROS: dict[str, Any] = {"bool": False, "int": 0, "float": 0.0, "str": "", "bytes": b"", "uuid": None}


def request_body(api: Api, version: int, given: Mapping[str, Any]) -> bytes:
    message = f"{api.name}Request"
    return message_encoder(message, version).row(filled(message, version, given))


def response(api: Api, version: int, body: bytes | None) -> Any:
    """The answer that the body holds, and nothing else."""
    assert body is not None
    return decode_response(api.key, version, body)


def filled(message: str, version: int, given: Mapping[str, Any], struct: str | None = None) -> dict[str, Any]:
    """The fields of the struct that this version has; structs are mappings. Raises UnknownFieldError for a name that no
    version has."""
    unknown = given.keys() - set(message_type(message, struct).__match_args__)
    if unknown:
        raise UnknownFieldError(f"no version of {struct or message} has {sorted(unknown)}")
    values: dict[str, Any] = {}
    for field in message_fields(message, version, struct):
        if field.name in given:
            values[field.name] = _value(message, version, field, given[field.name])
        elif not field.has_default:
            values[field.name] = _zero(message, version, field)
    return values


def _value(message: str, version: int, field: MessageField, value: Any) -> Any:
    if value is None or field.struct_name is None:
        return value
    if field.is_array:
        return [filled(message, version, one, field.struct_name) for one in value]
    return filled(message, version, value, field.struct_name)


def _zero(message: str, version: int, field: MessageField) -> Any:
    if field.is_nullable:
        return None
    if field.is_array:
        return ()
    if field.struct_name is not None:
        return filled(message, version, {}, field.struct_name)
    return TIMEOUT_MS if field.name.endswith("timeout_ms") else _ZEROS[field.kind]


def plain(message: Any) -> Any:
    """A message as dictionaries, lists, numbers and text, to compare."""
    names = getattr(type(message), "__match_args__", None)
    if names is not None:
        return {name: plain(getattr(message, name)) for name in names}
    return [plain(one) for one in message] if isinstance(message, list | tuple) else message
