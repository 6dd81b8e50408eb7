"""Record batches that attacks and honest clients send (v2; Kafka's record format)."""

from __future__ import annotations

import struct
import time

import zstandard
from crc32c import crc32c

ZSTD = 4


def plain_batch(value: bytes) -> bytes:
    """A batch of one uncompressed record with the current time."""
    return _batch(_record(value), 1, 0, int(time.time() * 1000))


def bomb(inflated_bytes: int, timestamp_ms: int) -> bytes:
    """A batch of one record of zeros: a few kilobytes of zstd that inflate to ``inflated_bytes``."""
    return _batch(zstandard.compress(_record(bytes(inflated_bytes), b"k"), 3), 1, ZSTD, timestamp_ms)


def _varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _record(value: bytes, key: bytes | None = None) -> bytes:
    keyed = _varint(-1) if key is None else _varint(len(key)) + key
    body = b"\0" + _varint(0) + _varint(0) + keyed + _varint(len(value)) + value + _varint(0)
    return _varint(len(body)) + body


def _batch(records: bytes, count: int, attributes: int, timestamp_ms: int) -> bytes:
    checked = struct.pack(">hiqqqhii", attributes, count - 1, timestamp_ms, timestamp_ms, -1, -1, -1, count) + records
    rest = struct.pack(">ibI", -1, 2, crc32c(checked)) + checked
    return struct.pack(">qi", 0, len(rest)) + rest
