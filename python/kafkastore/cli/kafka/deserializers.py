"""Bytes of a key, a value or a header as text, by the names of Kafka's deserializers, as Java prints what they give."""

from __future__ import annotations

import math
import struct
import uuid
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Deserializer = Callable[[bytes], bytes]

BACKSLASH: Final = 92
PACKAGE: Final = "org.apache.kafka.common.serialization."


class DeserializeError(ValueError):
    """Bytes that the deserializer does not take: one sentence, Kafka's where it has one."""


def deserializer_of(name: str, configs: Mapping[str, str]) -> Deserializer | None:
    """The deserializer of a class of Kafka's; None for another class. ``configs``: its own keys."""
    kind = name.removeprefix(PACKAGE).removesuffix("Deserializer")
    if kind == "String":
        return _recoder(configs.get("deserializer.encoding", "UTF8"))
    return KINDS.get(kind) if name.startswith(PACKAGE) else None


def _recoder(encoding: str) -> Deserializer:
    try:
        "".encode(encoding)
    except LookupError:
        raise DeserializeError(f"deserializer.encoding: {encoding} is no encoding; give UTF-8") from None
    return lambda data: data.decode(encoding, "replace").encode()


def _number(size: int, what: str) -> Deserializer:
    def read(data: bytes) -> bytes:
        if len(data) != size:
            raise DeserializeError(f"Size of data received by {what}Deserializer is not {size}")
        return str(int.from_bytes(data, "big", signed=True)).encode()

    return read


def _floating(layout: str) -> Deserializer:
    size = struct.calcsize(layout)

    def read(data: bytes) -> bytes:
        if len(data) != size:
            raise DeserializeError(f"Size of data received by Deserializer is not {size}")
        return java_floating(struct.unpack(layout, data)[0], is_double=size == 8).encode()

    return read


def java_floating(value: float, *, is_double: bool = True) -> str:
    """As Java's Double.toString and Float.toString write it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    digits = repr(value) if is_double else _shortest_float(value)
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    mantissa, _, exponent = digits.partition("e")
    whole, _, fraction = mantissa.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    figures = (whole + fraction).lstrip("0")
    power -= len(whole + fraction) - len(figures)
    figures = figures.rstrip("0") or "0"
    if figures == "0":
        return f"{sign}0.0"
    if -3 <= power < 7:
        padded = figures.ljust(power + 2, "0") if power >= 0 else "0" * -power + figures
        at = max(power, 0) + 1
        return f"{sign}{padded[:at]}.{padded[at:]}"
    return f"{sign}{figures[0]}.{figures[1:] or '0'}E{power}"


def _shortest_float(value: float) -> str:
    for places in range(1, 10):
        text = f"{value:.{places}g}"
        if struct.unpack(">f", struct.pack(">f", float(text)))[0] == value:
            return repr(float(text))
    return repr(value)


def _uuid(data: bytes) -> bytes:
    try:
        return str(uuid.UUID(data.decode())).encode()
    except ValueError:
        raise DeserializeError("Error parsing data into UUID") from None


def _boolean(data: bytes) -> bytes:
    if data not in (b"\0", b"\1"):
        raise DeserializeError(f"Unexpected byte received by BooleanDeserializer: {data.hex(' ')}")
    return b"true" if data == b"\1" else b"false"


def _nothing(_: bytes) -> bytes:
    raise DeserializeError("Data should be null for a VoidDeserializer.")


def _printable(data: bytes) -> bytes:
    """As Kafka's Bytes prints itself."""
    return b"".join(bytes((byte,)) if 32 <= byte < 127 and byte != BACKSLASH else b"\\x%02X" % byte for byte in data)


KINDS: Final[dict[str, Deserializer]] = {
    "Long": _number(8, "Long"),
    "Integer": _number(4, "Integer"),
    "Short": _number(2, "Short"),
    "Double": _floating(">d"),
    "Float": _floating(">f"),
    "UUID": _uuid,
    "Boolean": _boolean,
    "Bytes": _printable,
    "ByteArray": bytes,
    "ByteBuffer": bytes,
    "Void": _nothing,
}
