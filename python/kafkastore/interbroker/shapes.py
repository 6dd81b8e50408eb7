"""Compiles kio's dataclasses to the programs that the data plane checks request bodies with.

kio allocates by declared counts and raises on tagged fields it does not know, so no body reaches it before
``_core.sanitize`` has walked it. The walk follows a program per request version; this module makes the programs out of
kio's own schema, so there is one source. It knows the program's grammar (written above
``rust/protocol/shape/program.rs``) and kio's field metadata, and never reads a body.

What kio reads differently from its annotations, and what the programs say instead:

- A null array is taken for any array; here only when the array itself is annotated with ``None``.
- A tagged field is never null on the wire, even if its annotation has ``None`` (its absence says that).
- ``uuid`` is never null on the wire (zero is null), in arrays too.
- A boolean of 2 and a duration of more than 2**63 microseconds raise; the walk changes them to the nearest value.
"""

from __future__ import annotations

import dataclasses
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Final, Union, cast, get_args, get_origin

if TYPE_CHECKING:
    from kio.static.protocol import Entity

_FORMAT: Final = 1
_FIXED, _BOOL, _TIMEDELTA, _STRING, _BYTES, _ARRAY, _STRUCT, _NULLABLE_STRUCT = range(1, 9)
_NULLABLE: Final = 1
_COMPACT: Final = 2

_WIDTHS: Final = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}
_LENGTH_PREFIXED: Final = {"string": _STRING, "bytes": _BYTES, "records": _BYTES}


def program_for(entity_class: type[Entity]) -> bytes:
    """Compile the program of one request entity, for ``_core.register_shape``.

    :param entity_class: a kio dataclass such as ``kio.schema.heartbeat.v4.request.HeartbeatRequest``.
    :raises TypeError: when the class has a field of a kind that no request of kio has today; the message names it.
    """
    return bytes([_FORMAT]) + _struct(entity_class)


def _struct(entity_class: type[Entity]) -> bytes:
    flexible = bool(entity_class.__flexible__)
    fields: list[bytes] = []
    tagged: dict[int, bytes] = {}
    for field in dataclasses.fields(entity_class):
        tag = field.metadata.get("tag")
        program = _field(field, flexible=flexible, is_tagged=tag is not None)
        if tag is None:
            fields.append(program)
        else:
            tagged[tag] = program
    if tagged and not flexible:
        msg = f"{entity_class.__qualname__} has tagged fields but is not flexible"
        raise TypeError(msg)
    parts = [bytes([flexible, len(fields)]), *fields]
    if flexible:
        parts.append(bytes([len(tagged)]))
        parts.extend(tag.to_bytes(2, "big") + tagged[tag] for tag in sorted(tagged))
    return b"".join(parts)


def _field(field: dataclasses.Field[object], *, flexible: bool, is_tagged: bool) -> bytes:
    annotation, is_nullable = _without_none(field.type)
    flags = (_COMPACT if flexible else 0) | (_NULLABLE if is_nullable and not is_tagged else 0)
    if get_origin(annotation) is not tuple:
        return _element(field, annotation, flags)
    item, *_ = get_args(annotation)
    item, _ = _without_none(item)
    return bytes([_ARRAY, flags]) + _element(field, item, flags & ~_NULLABLE)


def _element(field: dataclasses.Field[object], annotation: object, flags: int) -> bytes:
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return bytes([_NULLABLE_STRUCT if flags & _NULLABLE else _STRUCT]) + _struct(cast("type[Entity]", annotation))
    kind = field.metadata.get("kafka_type")
    if kind == "bool":
        return bytes([_BOOL])
    if kind == "timedelta_i64":
        return bytes([_TIMEDELTA])
    if kind in _LENGTH_PREFIXED:
        return bytes([_LENGTH_PREFIXED[kind], flags])
    if kind in _WIDTHS:
        return bytes([_FIXED, _WIDTHS[kind]])
    msg = f"field {field.name} has the unknown kafka_type {kind!r}"
    raise TypeError(msg)


def _without_none(annotation: object) -> tuple[object, bool]:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    inner = [arg for arg in get_args(annotation) if arg is not NoneType]
    if len(inner) != 1 or len(inner) == len(get_args(annotation)):
        msg = f"{annotation!r} is a union of more than one type with None"
        raise TypeError(msg)
    return inner[0], True
