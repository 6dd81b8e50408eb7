"""A record as bytes on stdout: after a pattern as kcat and rpk have it, as JSON, or its value as it is."""

from __future__ import annotations

import base64
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.cli.output import printable
from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore._core import FetchedRecord

VALUE_LINE: Final = "%v\\n"
PIECES: Final = re.compile(r"%(?P<letter>.)?|\\(?P<escape>x[0-9a-fA-F]{2}|.)?|(?P<text>[^%\\]+)", re.DOTALL)
SPACES: Final = re.compile(r"([\t\n])")
ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
NO_TIME: Final = -1


class ReadRecord(NamedTuple):
    """``value`` is what the record's value says where it was decoded, else its bytes; ``error`` is why it could not
    be decoded."""

    topic: str
    partition: int
    record: FetchedRecord
    value: Any
    is_decoded: bool = False
    error: str | None = None


def pattern_writer(pattern: str) -> Callable[[ReadRecord], bytes]:
    """Raises ConfigError for a letter that means nothing."""
    pieces: list[Callable[[ReadRecord], bytes]] = []
    for found in PIECES.finditer(pattern):
        letter, escape = found["letter"], found["escape"]
        if found["text"] is not None:
            pieces.append(_constant(found["text"].encode(errors="surrogateescape")))
        elif letter == "%":
            pieces.append(_constant(b"%"))
        elif letter in LETTERS:
            pieces.append(LETTERS[letter])
        elif escape is not None and escape.startswith("x") and len(escape) > 1:
            pieces.append(_constant(bytes.fromhex(escape[1:])))
        elif escape in ESCAPES:
            pieces.append(_constant(ESCAPES[escape]))
        else:
            raise ConfigError(
                f"--format-string: {found[0]} means nothing; give {' '.join(f'%{one}' for one in LETTERS)}"
            )
    return lambda one: b"".join([piece(one) for piece in pieces])


def for_terminal(write: Callable[[ReadRecord], bytes]) -> Callable[[ReadRecord], bytes]:
    """The same with what would act on a terminal escaped, but for tabs and the ends of lines."""

    def written(one: ReadRecord) -> bytes:
        pieces = SPACES.split(write(one).decode(errors="backslashreplace"))
        return "".join(piece if SPACES.fullmatch(piece) else printable(piece) for piece in pieces).encode()

    return written


def _constant(data: bytes) -> Callable[[ReadRecord], bytes]:
    return lambda _: data


def value_bytes(one: ReadRecord) -> bytes:
    """The value: as it is, or as JSON where it was decoded."""
    if one.value is None:
        return b""
    if one.is_decoded:
        return json.dumps(one.value, ensure_ascii=False, default=_plain).encode()
    found: bytes = one.value
    return found


def _headers(one: ReadRecord) -> bytes:
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in one.record.headers)


LETTERS: Final[dict[str | None, Callable[[ReadRecord], bytes]]] = {
    "v": value_bytes,
    "s": value_bytes,
    "V": lambda one: b"%d" % (-1 if one.record.value is None else len(one.record.value)),
    "S": lambda one: b"%d" % (-1 if one.record.value is None else len(one.record.value)),
    "k": lambda one: one.record.key or b"",
    "K": lambda one: b"%d" % (-1 if one.record.key is None else len(one.record.key)),
    "t": lambda one: one.topic.encode(),
    "p": lambda one: b"%d" % one.partition,
    "o": lambda one: b"%d" % one.record.offset,
    "e": lambda one: b"%d" % one.record.leader_epoch,
    "T": lambda one: b"%d" % one.record.timestamp_ms,
    "d": lambda one: (time_text(one.record.timestamp_ms) or "").encode(),
    "h": _headers,
}
"""kcat's letters, and those of rpk where they are others; ``%d`` is the time as ISO 8601."""


def json_of(one: ReadRecord) -> dict[str, Any]:
    """A record as an object; bytes that are no UTF-8 are base64 under a name that says so."""
    record = one.record
    made: dict[str, Any] = {
        "topic": one.topic,
        "partition": one.partition,
        "offset": record.offset,
        "timestamp": time_text(record.timestamp_ms),
        "timestamp_type": record.timestamp_type,
        **_field("key", record.key),
        **({"value": one.value} if one.is_decoded else _field("value", record.value)),
        "headers": [{"key": name, **_field("value", value)} for name, value in record.headers],
    }
    return made if one.error is None else made | {"value_error": one.error}


def json_text(one: ReadRecord) -> str:
    return json.dumps(json_of(one), ensure_ascii=False, default=_plain)


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


def time_text(timestamp_ms: int) -> str | None:
    """ISO 8601 with milliseconds, in UTC; None for a record without a time, the number for one that no date can
    hold."""
    if timestamp_ms == NO_TIME:
        return None
    try:
        moment = datetime.fromtimestamp(timestamp_ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"


def _plain(value: Any) -> Any:
    """What JSON has no value for: bytes as base64, times and decimals as text."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
