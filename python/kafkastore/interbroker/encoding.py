"""Writes responses row by row: from plain values, or from kio's entities, to bytes.

Place: what a handler answers becomes bytes here (``server/kafka_apis.py``), after kio's own schema, like the programs
of ``shapes.py``. kio's writer takes whole trees of entities; this one takes rows that are made when they are written
(:class:`Rows`) and gives the bytes piece by piece, so that a long answer is written in slices of the loop and is never
in memory more than once. Invariants: the bytes are those that kio's writer gives for the same values
(``tests/unit/interbroker/test_encoding.py``), but for two things: an error code may be any int16, and a string that is
longer than its field takes is cut. A field that this version of the class does not have is left out when another served
version has it (``versioned_fields.py``); a name that no version has is a mistake of ours, and raises
:class:`UnknownFieldError`. Never: reads, keeps the bytes that it wrote, waits.

A row is bytes, an :class:`Unwritten`, or an entity of kio's.
"""

from __future__ import annotations

import struct
from datetime import datetime, timedelta
from itertools import islice
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias, TypeVar

    from kio.static.protocol import Entity

    Item = TypeVar("Item")
    Row: TypeAlias = "bytes | Unwritten | Entity"

MAX_STRING_BYTES: Final = 32767
"""The longest string of the protocol, with either kind of length."""

PRIMITIVES_A_PIECE: Final = 1000
"""How many strings or numbers of one array are written at once."""

_FORMATS: Final = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float64": "d",
    "bool": "?",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}


class UnknownFieldError(TypeError):
    """A handler gave a field that no served version of the class has."""


class Rows:
    """As many rows as there are ``items``, each made by ``make`` when it is written."""

    __slots__ = ("_items", "_make")

    def __init__(self, items: Collection[Item], make: Callable[[Item], Row]) -> None:
        self._items = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._items)


class Unwritten:
    """A row, or a whole response, whose bytes are made when they are asked for."""

    __slots__ = ("_encoder", "_values")

    def __init__(self, encoder: Encoder, values: Sequence[Any]) -> None:
        self._encoder = encoder
        self._values = values

    @property
    def entity_class(self) -> type[Any]:
        """kio's class of the row."""
        return self._encoder.entity_class

    def pieces(self) -> Iterator[bytes]:
        return self._encoder.pieces_of(self._values)


class Encoder:
    """The encoder of one class of kio's; get it from :func:`encoder_of`."""

    __slots__ = (
        "_end",
        "_get",
        "_is_plain",
        "_known",
        "_pick",
        "_size",
        "_steps",
        "_tags",
        "_writes",
        "entity_class",
    )

    def __init__(self, entity_class: type[Any]) -> None:
        import dataclasses  # it takes milliseconds that no start waits for

        self.entity_class = entity_class
        fields = dataclasses.fields(entity_class)
        flexible = bool(entity_class.__flexible__)
        names = tuple(field.name for field in fields)
        self._known: dict[str, Any] = {
            field.name: _default_of(field.name) if field.default is dataclasses.MISSING else field.default
            for field in fields
        }
        """Every field that may be given: those of this version with their defaults and, once one of them was given,
        those of other versions."""
        self._size = len(names)
        self._get = _tuple_getter(attrgetter, names)
        self._pick = _tuple_getter(itemgetter, names)
        self._steps = _steps(fields, flexible)
        self._tags = _tags(fields)
        self._writes = [write for write, _, _ in self._steps if write is not None]
        """The writers of a row's pieces, when each of them is written in one step (``_is_plain``)."""
        self._is_plain = len(self._writes) == len(self._steps) and not self._tags
        self._end = b"\0" if flexible else b""

    def row(self, given: dict[str, Any]) -> bytes:
        """A row with these values; a field that is not given has its default, one that only other versions of the class
        have is left out. Raises UnknownFieldError for a name that no version has."""
        values = self._values(given)
        if self._is_plain:
            writes = self._writes
            if len(writes) == 1:
                return writes[0](values) + self._end
            return b"".join([write(values) for write in writes]) + self._end
        return b"".join(self.pieces_of(values))

    def unwritten(self, given: dict[str, Any]) -> Unwritten:
        """As :meth:`row`, but not written yet: for a row that has many rows itself."""
        return Unwritten(self, self._values(given))

    def _values(self, given: dict[str, Any]) -> Sequence[Any]:
        values = self._known | given
        if len(values) != self._size:
            self._admit(given)
        return self._pick(values)

    def _admit(self, given: Mapping[str, Any]) -> None:
        """Checks the names that this version does not have; the next row with a field of another version needs no
        check."""
        from kafkastore.interbroker.versioned_fields import (
            VERSIONED_FIELDS,  # a client of the newest versions never needs it
        )

        api_module, class_name = self.entity_class.__module__.split(".")[-3], self.entity_class.__qualname__
        versioned = VERSIONED_FIELDS.get(api_module, {}).get(class_name, ())
        for name in given:
            if name not in self._known and name not in versioned:
                raise UnknownFieldError(f"{api_module}: no served version of {class_name} has the field {name!r}")
        for name in versioned:
            self._known.setdefault(name, None)
        self._size = len(self._known)

    def pieces(self, entity: Any) -> Iterator[bytes]:
        """The bytes of an entity of kio's."""
        return self.pieces_of(self._get(entity))

    def pieces_of(self, values: Sequence[Any]) -> Iterator[bytes]:
        for write, pieces, place in self._steps:
            if write is not None:
                yield write(values)
            else:
                yield from pieces(values[place])
        if self._tags:
            yield self._tagged(values)
        elif self._end:
            yield self._end

    def _tagged(self, values: Sequence[Any]) -> bytes:
        count, out = 0, []
        for place, tag, default, pieces in self._tags:
            value = values[place]
            if value != default and (default != () or value):
                content = b"".join(pieces(value))
                out += [_varint(tag), _varint(len(content)), content]
                count += 1
        return b"".join([_varint(count), *out])


def _tuple_getter(getter: Callable[..., Any], names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    """``getter`` is attrgetter or itemgetter, which give a single value bare."""
    if not names:
        return lambda _: ()
    get: Callable[[Any], Any] = getter(*names)
    return get if len(names) > 1 else lambda values: (get(values),)


_encoders: dict[type[Any], Encoder] = {}


def encoder_of(entity_class: type[Any]) -> Encoder:
    """The encoder of a class, compiled once."""
    found = _encoders.get(entity_class)
    if found is None:
        found = _encoders[entity_class] = Encoder(entity_class)
    return found


def row_pieces(row: Any) -> Iterator[bytes]:
    """The bytes of a row of any kind."""
    if type(row) is bytes:
        yield row
    elif type(row) is Unwritten:
        yield from row.pieces()
    else:
        yield from encoder_of(type(row)).pieces(row)


# ---- compiling
_Step = tuple["Callable[[Sequence[Any]], bytes] | None", "Callable[[Any], Iterator[bytes]]", int]


def _nothing(_: Any) -> Iterator[bytes]:
    return iter(())


def _steps(fields: Sequence[Any], flexible: bool) -> list[_Step]:
    """The steps that write the fields; neighbouring fields of fixed width are written in one step."""
    steps: list[_Step] = []
    run: list[int] = []

    def end_run() -> None:
        if run:
            kinds = [fields[place].metadata["kafka_type"] for place in run]
            steps.append((_fixed_writer(kinds, run[0]), _nothing, run[0]))
            run.clear()

    for place, field in enumerate(fields):
        if field.metadata.get("tag") is not None:
            end_run()
            continue
        is_nullable, is_array = _kind(field.type)
        kind = field.metadata.get("kafka_type")
        if not is_array and kind in _FORMATS:
            run.append(place)
            continue
        end_run()
        if not is_array and kind is not None:
            steps.append((_text_writer(kind, flexible, is_nullable, place), _nothing, place))
        else:
            steps.append((None, _pieces_writer(kind, flexible, is_nullable, is_array), place))
    end_run()
    return steps


def _tags(fields: Sequence[Any]) -> list[tuple[int, int, Any, Callable[[Any], Iterator[bytes]]]]:
    found = []
    for place, field in enumerate(fields):
        tag = field.metadata.get("tag")
        if tag is not None:
            _, is_array = _kind(field.type)
            kind = field.metadata.get("kafka_type")
            found.append((place, tag, field.default, _pieces_writer(kind, True, False, is_array)))
    return sorted(found, key=lambda one: one[1])


def _pieces_writer(
    kind: str | None, flexible: bool, is_nullable: bool, is_array: bool
) -> Callable[[Any], Iterator[bytes]]:
    if is_array:
        length = _compact_length if flexible else _legacy_length
        if kind is None:
            return lambda rows: _rows_pieces(rows, length)
        if kind in _FORMATS:
            return lambda items: _numbers_pieces(items, kind, length)
        write = _text_writer(kind, flexible, False)
        return lambda items: _texts_pieces(items, write, length)
    if kind is None:
        return _nullable_row_pieces if is_nullable else row_pieces
    if kind in _FORMATS:
        fixed = _fixed_writer([kind])
        return lambda value: iter((fixed((value,)),))
    text = _text_writer(kind, flexible, is_nullable)
    return lambda value: iter((text((value,)),))


def _kind(annotation: Any) -> tuple[bool, bool]:
    """(whether null is allowed, whether it is an array)"""
    annotation, is_nullable = _without_none(annotation)
    return is_nullable, get_origin(annotation) is tuple


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation, False
    (inner,) = (one for one in get_args(annotation) if one is not NoneType)
    return inner, True


# ---- writing
def _fixed_writer(kinds: Sequence[str], start: int = 0) -> Callable[[Sequence[Any]], bytes]:
    """The writer of neighbouring numbers, of which ``start`` is the place of the first among the values."""
    end = start + len(kinds)
    pack = struct.Struct(">" + "".join(_FORMATS[kind] for kind in kinds)).pack
    converters = [_CONVERTERS.get(kind) for kind in kinds]
    if not any(converters):
        return lambda values: pack(*values[start:end])
    return lambda values: pack(
        *[
            value if convert is None else convert(value)
            for value, convert in zip(values[start:end], converters, strict=True)
        ]
    )  # fmt: skip


def _text_writer(kind: str, flexible: bool, is_nullable: bool, place: int = 0) -> Callable[[Sequence[Any]], bytes]:
    """The writer of one string, or of bytes, which has this place among the values."""
    is_string = kind == "string"

    def write(values: Sequence[Any]) -> bytes:
        value = values[place]
        if value is None:
            if not is_nullable:
                message = "a value that is never null is null"
                raise TypeError(message)
            return b"\0" if flexible else b"\xff\xff" if is_string else b"\xff\xff\xff\xff"
        content: bytes = _encoded(value) if is_string else value
        size = len(content)
        if flexible:
            return bytes((size + 1,)) + content if size < 127 else _varint(size + 1) + content
        return size.to_bytes(2 if is_string else 4, "big") + content

    return write


def _encoded(text: str) -> bytes:
    """UTF-8, cut between two characters when it is too long."""
    content = text.encode()
    if len(content) > MAX_STRING_BYTES:
        content = content[:MAX_STRING_BYTES].decode(errors="ignore").encode()
    return content


def _rows_pieces(rows: Collection[Any] | None, length: Callable[[int | None], bytes]) -> Iterator[bytes]:
    if rows is None:
        yield length(None)
        return
    yield length(len(rows))
    for row in rows:
        if type(row) is bytes:
            yield row
        else:
            yield from row_pieces(row)


def _nullable_row_pieces(row: Any) -> Iterator[bytes]:
    if row is None:
        yield b"\xff"
        return
    yield b"\x01"
    yield from row_pieces(row)


def _numbers_pieces(items: Collection[Any] | None, kind: str, length: Callable[[int | None], bytes]) -> Iterator[bytes]:
    yield length(None if items is None else len(items))
    convert = _CONVERTERS.get(kind)
    for some in _runs(items or ()):
        values = some if convert is None else map(convert, some)
        yield struct.pack(f">{_FORMATS[kind] * len(some)}", *values)


def _texts_pieces(
    items: Collection[Any] | None, write: Callable[[Sequence[Any]], bytes], length: Callable[[int | None], bytes]
) -> Iterator[bytes]:
    yield length(None if items is None else len(items))
    for some in _runs(items or ()):
        yield b"".join([write((one,)) for one in some])


def _runs(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while some := list(islice(iterator, PRIMITIVES_A_PIECE)):
        yield some


def _compact_length(count: int | None) -> bytes:
    return _varint(0 if count is None else count + 1)


def _legacy_length(count: int | None) -> bytes:
    return (-1 if count is None else count).to_bytes(4, "big", signed=True)


def _varint(value: int) -> bytes:
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# ---- plain values
def _code(value: Any) -> Any:
    return value if isinstance(value, int) else value.value


def _milliseconds(value: Any) -> Any:
    return round(value.total_seconds() * 1000) if isinstance(value, timedelta) else value


def _timestamp(value: Any) -> Any:
    if value is None:
        return -1
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def _uuid_bytes(value: Any) -> bytes:
    if value is None:
        return bytes(16)
    return value if isinstance(value, bytes) else value.bytes


_CONVERTERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "error_code": _code,
    "timedelta_i32": _milliseconds,
    "timedelta_i64": _milliseconds,
    "datetime_i64": _timestamp,
    "uuid": _uuid_bytes,
}


def _default_of(name: str) -> Any:
    """The value of a field without a default that is not given: only the throttle time may be left out."""
    return 0 if name == "throttle_time" else _NOT_GIVEN


class _NotGiven:
    """A value that every writer fails on: the handler left a field out."""

    __slots__ = ()


_NOT_GIVEN: Final = _NotGiven()
