"""Writes the segments of a log of random keys, as a broker leaves them. Many batches are made at once, since a hundred
million records are wanted. This module never reads a log and starts nothing."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from crc32c import crc32c

from interop.batches import CODECS, compress, varint

RECORDS_A_BATCH: Final = 80  # 16 KiB of records of 200 bytes: the batch size of Java's producer
KEY_BYTES: Final = 8
BATCHES_AT_ONCE: Final = 1024
LETTERS: Final = 16  # a value is of so many different bytes: a codec halves it


@dataclass(frozen=True)
class KeyedLog:
    """What a log is like."""

    records: int
    keys: int
    record_bytes: int
    """A record's own bytes; the headers of batches come on top."""
    segment_bytes: int
    codec: str = "none"


@dataclass(frozen=True)
class Written:
    end_offset: int
    """Of all segments together."""
    active_offset: int
    """Where the active segment begins, up to which the log can be cleaned."""
    size_bytes: int
    """Of the segments below the active one."""


def write(folder: Path, log: KeyedLog) -> Written:
    """The segments, of `log.segment_bytes` each and the last one of a single batch."""
    base = size = total = 0
    file = (folder / f"{0:020}.log").open("wb")
    for batch in _batches(log):
        if size + len(batch) > log.segment_bytes:
            file.close()
            file = (folder / f"{base:020}.log").open("wb")
            size = 0
        file.write(batch)
        size, total, base = size + len(batch), total + len(batch), base + RECORDS_A_BATCH
    file.close()
    (folder / f"{base:020}.log").write_bytes(_with_header(base, next(_payloads(log, 1)), log))
    return Written(base + RECORDS_A_BATCH, base, total)


def _batches(log: KeyedLog) -> Iterator[bytes]:
    base = 0
    for payload in _payloads(log, log.records // RECORDS_A_BATCH):
        yield _with_header(base, payload, log)
        base += RECORDS_A_BATCH


def _payloads(log: KeyedLog, count: int) -> Iterator[bytes]:
    """The records of each batch, uncompressed. Values come again after BATCHES_AT_ONCE batches, which is more than any
    codec sees."""
    template, keys_at, values_at = _template(log.record_bytes)
    random = np.random.default_rng(1)
    rows = np.tile(template, (BATCHES_AT_ONCE, 1))
    noise = np.frombuffer(random.bytes(len(rows) * len(values_at)), np.uint8) % LETTERS + ord("a")
    rows[:, values_at] = noise.reshape(len(rows), -1)
    for first in range(0, count, BATCHES_AT_ONCE):
        keys: Any = random.integers(0, log.keys, (len(rows), RECORDS_A_BATCH), dtype=np.uint64)
        rows[:, keys_at] = keys.byteswap().view(np.uint8)
        for row in rows[: count - first]:
            yield row.tobytes()


def _template(record_bytes: int) -> tuple[Any, Any, Any]:
    """The records of a batch with empty keys and values, and where keys and values belong."""
    out = bytearray()
    keys_at: list[int] = []
    values_at: list[int] = []
    for delta in range(RECORDS_A_BATCH):
        head = b"\0\0" + varint(delta) + varint(KEY_BYTES)
        # two bytes each for the record's length and the value's, one for the count of headers
        value_bytes = record_bytes - len(head) - KEY_BYTES - 5
        out += varint(record_bytes - 2) + head
        keys_at += range(len(out), len(out) + KEY_BYTES)
        out += bytes(KEY_BYTES) + varint(value_bytes)
        values_at += range(len(out), len(out) + value_bytes)
        out += bytes(value_bytes) + b"\0"
    return np.frombuffer(bytes(out), np.uint8), np.array(keys_at), np.array(values_at)


def _with_header(base: int, payload: bytes, log: KeyedLog) -> bytes:
    now_ms = int(time.time() * 1000)
    codec = CODECS.index(log.codec)
    count = RECORDS_A_BATCH
    after_crc = struct.pack(">hiqqqhii", codec, count - 1, now_ms, now_ms, -1, -1, -1, count)
    after_crc += compress(log.codec, payload)
    return struct.pack(">qiibI", base, len(after_crc) + 9, 0, 2, crc32c(after_crc)) + after_crc
