"""The rates of this machine without a broker, for comparison with the demo's rates."""

from __future__ import annotations

import json
import os
import tempfile
import time

import pyarrow as pa
import zstandard

from demo.from_files import aggregate

SAMPLE = 30_000
CHUNK_BYTES = 1 << 20
WRITE_BYTES = 128 << 20


def _rate(amount: float, started: float) -> float:
    return amount / (time.perf_counter() - started)


def json_decode_rate(records: list[tuple[bytes, bytes]]) -> float:
    """Records a second that one Python process parses: no member can read faster."""
    values = [value for _, value in records[:SAMPLE]]
    started = time.perf_counter()
    for value in values:
        json.loads(value)
    return _rate(len(values), started)


def duckdb_rate(records: list[tuple[bytes, bytes]]) -> float:
    """Records a second that DuckDB aggregates with the same statement from memory."""
    keys, values = zip(*records, strict=True)
    table = pa.table({"key": pa.array(keys, pa.binary()), "value": pa.array(values, pa.binary())})
    started = time.perf_counter()
    aggregate(table)
    return _rate(len(records), started)


def zstd_rate(records: list[tuple[bytes, bytes]]) -> float:
    """MB/s that one core compresses at librdkafka's level, in chunks of a large batch."""
    data = b"".join(value for _, value in records[:SAMPLE])
    compressor = zstandard.ZstdCompressor(level=3)
    started = time.perf_counter()
    for position in range(0, len(data), CHUNK_BYTES):
        compressor.compress(data[position : position + CHUNK_BYTES])
    return _rate(len(data) / 1e6, started)


def write_rate() -> float:
    """MB/s of plain writes to a file, without a sync (Kafka's default does not sync either)."""
    chunk = os.urandom(CHUNK_BYTES)
    with tempfile.TemporaryFile() as file:
        started = time.perf_counter()
        for _ in range(WRITE_BYTES // CHUNK_BYTES):
            file.write(chunk)
        file.flush()
        return _rate(WRITE_BYTES / 1e6, started)
