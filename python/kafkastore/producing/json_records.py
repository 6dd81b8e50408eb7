"""A line of JSON as a record: ``{"key", "value", "headers", "partition", "timestamp"}``, as ``kafkastore consume
--json`` prints it. What that prints beside them, such as the offset, is passed over."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.producing.writer import Row

KNOWN: Final = ("key", "value", "headers", "partition", "timestamp", "key_base64", "value_base64")
PASSED_OVER: Final = ("topic", "offset", "timestamp_type")
SECOND_MS: Final = 1000
LAST_MS: Final = (1 << 63) - 1
LAST_PARTITION: Final = (1 << 31) - 1


class RecordError(KafkastoreError):
    """A line that is no record: what is wrong, without the line's number."""


def record_of(line: bytes, encode: Callable[[Any], bytes | None]) -> Row:
    """``encode`` makes bytes of a value. Raises RecordError."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = "it nests too deeply" if isinstance(error, RecursionError) else error
        raise RecordError(f"it is no JSON: {reason}") from None
    if not isinstance(found, dict):
        raise RecordError('it is no object; write {"key": ..., "value": ...}')
    unknown = [name for name in found if name not in KNOWN and name not in PASSED_OVER]
    if unknown:
        raise RecordError(f"it has the unknown field {unknown[0]}; a record has {', '.join(KNOWN)}")
    if "value" not in found and "value_base64" not in found:
        raise RecordError("it has no value; null is a tombstone")
    value = _bytes(found, "value") if "value_base64" in found else encode(found["value"])
    return _bytes(found, "key"), value, _headers(found.get("headers")), _partition(found), _time(found.get("timestamp"))


def plain_bytes(value: Any) -> bytes | None:
    """Text as it is, null as none, all else as JSON. Raises RecordError for half a character and for NaN."""
    if value is None:
        return None
    try:
        return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, allow_nan=False)).encode()
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise RecordError(f"it has {half}, which is half a character; write both halves") from None
    except ValueError:  # Python reads NaN, and 1e400 as infinite
        raise RecordError("it has a number that JSON has not: NaN, or one that is too large") from None


def time_of(value: Any) -> int:
    """Milliseconds out of milliseconds or of ISO 8601. Raises RecordError."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LAST_MS:
        return value
    if isinstance(value, str):
        if value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= LAST_MS:
            return int(value)
        try:
            parsed = datetime.fromisoformat(value)
            return round((parsed if parsed.tzinfo else parsed.astimezone()).timestamp() * SECOND_MS)
        except ValueError:
            pass
    raise RecordError(f"{value!r} is no time; write 2026-01-31T12:00:00Z, or milliseconds since 1970")


def _bytes(found: dict[str, Any], name: str) -> bytes | None:
    text = found.get(f"{name}_base64")
    if text is None:
        return plain_bytes(found.get(name))
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise RecordError(f"its {name}_base64 is no base64") from None


def _headers(given: Any) -> list[tuple[str, bytes | None]] | None:
    if given is None:
        return None
    rows = [{"key": name, "value": value} for name, value in given.items()] if isinstance(given, dict) else given
    if not isinstance(rows, list) or not all(isinstance(row, dict) and isinstance(row.get("key"), str) for row in rows):
        raise RecordError('its headers are neither an object nor a list of {"key": ..., "value": ...}')
    for row in rows:
        plain_bytes(row["key"])
    return [(row["key"], _bytes(row, "value")) for row in rows]


def _partition(found: dict[str, Any]) -> int | None:
    number = found.get("partition")
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= LAST_PARTITION:
        raise RecordError(f"its partition is {number!r}; give a number")
    return number


def _time(value: Any) -> int | None:
    return None if value is None else time_of(value)
