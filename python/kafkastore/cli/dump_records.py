"""``kafkastore dump``: records as text, JSON lines or Parquet. Output is UTF-8, whatever the terminal's encoding.

text := topic-partition, offset, time, then ``key``, ``value``, ``headers`` with JSON strings, ``null`` or
        ``base64:...``
json := an object a line, the columns by their names; bytes that are no UTF-8 as base64 under ``<name>_base64``
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from kafkastore import _core
from kafkastore.cli.dump import DumpError
from kafkastore.cli.scan_sentences import unreadable_sentences
from kafkastore.cli.segment_end import REPAIR, fault_at_end
from kafkastore.scanning.bounds import EPOCH, as_timestamp_ms
from kafkastore.scanning.scan import BATCH_BYTES, BATCH_ROWS, Scan, scan
from kafkastore.scanning.unseen import sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kafkastore.cli.dump import DumpOptions, DumpSource
    from kafkastore.scanning.bounds import Bound

TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
BATCH_ROWS_PRINTED = 1024
"""Rows of a batch when records are printed: few, so that the first lines appear at once."""


class _DumpedRecords(NamedTuple):
    """What is dumped. ``scan`` gives an Arrow stream and is one of the core for a single file; ``fault`` is why that
    file is not read to its end, empty when it is or when the records that are wanted end before."""

    scan: Scan | _core.Scan
    fault: str = ""


def dump_records(source: DumpSource, options: DumpOptions) -> int:
    """Prints or writes the records. Returns 1 when a file cannot be read to its end, else 0. Raises DumpError,
    ScanError, ValueError, OSError; each is one sentence."""
    dumped = _open(source, options, BATCH_ROWS if options.format == "parquet" else BATCH_ROWS_PRINTED)
    write = _write_parquet if options.format == "parquet" else _print
    count = write(dumped.scan, options)
    _tell_left_out(dumped.scan, source, options)
    if not dumped.fault or (options.max_records is not None and count >= options.max_records):
        return 0
    fix = "" if options.ignores_corrupt_batches else f"; {REPAIR}"
    sys.stderr.write(f"kafkastore dump: {dumped.fault}{fix}\n")
    return 0 if options.ignores_corrupt_batches else 1


def _print(opened: Scan | _core.Scan, options: DumpOptions) -> int:
    """Returns the number of records."""
    format_row = _text if options.format == "text" else _json
    columns, count = options.columns, 0
    with _opened(options.output) as out:
        rows = opened.rows() if isinstance(opened, Scan) else scanned_rows(opened)
        for count, row in enumerate(islice(rows, options.max_records), start=1):  # noqa: B007 - the last is returned
            out.write(format_row(dict(zip(columns, row, strict=True))).encode() + b"\n")
    return count


def _tell_left_out(opened: Scan | _core.Scan, source: DumpSource, options: DumpOptions) -> None:
    """Prints lines on stderr about records that were left out, since they cannot be read or the checkpoints do not say
    that they are committed."""
    lost = opened.lost if isinstance(opened, Scan) else [one[1:] for one in opened.lost]
    for line in unreadable_sentences(source.topic, sorted(set(lost))):
        sys.stderr.write(f"kafkastore dump: {line}\n")
    if isinstance(opened, Scan) and options.end is None and (left_out := opened.unseen()):
        sys.stderr.write(f"kafkastore dump: {sentence(source.topic, left_out)}; name the .log file to see all of it\n")


def _open(source: DumpSource, options: DumpOptions, batch_rows: int) -> _DumpedRecords:
    if source.file is None:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # _tell_left_out says it at the end
            made = scan(
                source.log_dir,
                source.topic,
                partitions=source.partitions,
                columns=options.columns,
                start=options.start,
                end=options.end,
                isolation_level=options.isolation_level,
                batch_rows=batch_rows,
                ignore_corrupt_batches=options.ignores_corrupt_batches,
            )
        return _DumpedRecords(made)
    splits, fault = _file_splits(source, source.file, options)
    opened = _core.Scan(
        splits,
        options.columns,
        batch_rows=batch_rows,
        batch_bytes=BATCH_BYTES,
        ignore_corrupt_batches=options.ignores_corrupt_batches,
    )
    return _DumpedRecords(opened, fault)


def scanned_rows(opened: _core.Scan) -> Iterator[tuple[Any, ...]]:
    for batch in _core.Rows(opened):
        yield from batch


class _Batches(NamedTuple):
    """The whole batches at the beginning of a file: the first and the last offset, where they end, and what ``fault``
    there is behind them. ``first`` is None when there are none."""

    first: int | None
    last: int
    end_bytes: int
    fault: str


def _batches_of(path: Path) -> _Batches:
    first, last, end = None, -1, 0
    headers, error = _core.BatchHeaders(str(path)), None
    try:
        while chunk := headers.next_chunk():
            first = chunk[0].base_offset if first is None else first
            last, end = chunk[-1].last_offset, chunk[-1].position + chunk[-1].size_bytes
    except _core.ScanError as found:
        error = found
    return _Batches(first, last, end, fault_at_end(path, headers, error))


def file_split(path: Path, partition: tuple[str, int], span: tuple[int, int], end_bytes: int) -> _core.Split:
    """The records of a single .log file with offsets in ``span``, of its first bytes."""
    named = path.stem if path.stem.isdigit() else "0"
    piece = {"path": str(path), "link": None, "base_offset": int(named), "next_base_offset": (1 << 63) - 1}
    fields = {
        "topic": partition[0],
        "partition": partition[1],
        "start_offset": span[0],
        "end_offset": span[1],
        "slices": [{**piece, "start": 0, "end": end_bytes}],
        "aborted": None,
    }
    return _core.Split.decode(json.dumps(fields))


def _file_splits(source: DumpSource, path: Path, options: DumpOptions) -> tuple[list[_core.Split], str]:
    """The splits of a single .log file: its whole batches, between the bounds; and why these are not all that is
    wanted of it, empty when they are."""
    first, last, end, fault = _batches_of(path)
    if first is None:
        return [], fault

    def split(start_offset: int, end_offset: int) -> _core.Split:
        return file_split(path, (source.topic, (source.partitions or [0])[0]), (start_offset, end_offset), end)

    def offset_of(name: str, bound: Bound | None, default: int) -> int:
        if not isinstance(bound, datetime):
            return default if bound is None else min(max(bound, first or 0), last + 1)
        wanted_us = as_timestamp_ms(name, bound) * 1000
        times = scanned_rows(_core.Scan([split(first or 0, last + 1)], ("offset", "timestamp")))
        return next((offset for offset, timestamp in times if timestamp >= wanted_us), last + 1)

    start = offset_of("--from", options.start, first)
    stop = offset_of("--to", options.end, last + 1)
    if stop < start:
        raise DumpError(f"--to {options.end} is before --from {options.start}; give the earlier one as --from")
    return [split(start, stop)] if start < stop else [], fault if stop > last else ""


def _write_parquet(opened: Scan | _core.Scan, options: DumpOptions) -> int:
    """Writes the Parquet file, which appears whole or not at all. Returns the number of records."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DumpError("--format parquet needs pyarrow; install it with pip install 'kafkastore[arrow]'") from None
    assert options.output is not None
    from kafkastore.scanning.parquet_files import batches_of

    count = 0
    reader = pa.RecordBatchReader.from_stream(opened)
    partial = options.output.with_name(f"{options.output.name}.partial")
    try:
        with parquet.ParquetWriter(partial, reader.schema, compression="zstd") as writer:
            for batch in _at_most(batches_of(reader, opened), options.max_records):
                writer.write_batch(batch)
                count += batch.num_rows
        partial.replace(options.output)
    except pa.ArrowException as error:
        raise DumpError(str(error)) from None
    finally:
        partial.unlink(missing_ok=True)
    return count


def _at_most(batches: Iterable[Any], rows: int | None) -> Iterator[Any]:
    left = rows
    for batch in batches:
        if left is None:
            yield batch
            continue
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= batch.num_rows


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with output.open("wb") as file:
        yield file


# ---- one record


def _text(row: dict[str, Any]) -> str:
    words = []
    if "topic" in row or "partition" in row:
        words.append("-".join(str(row[name]) for name in ("topic", "partition") if name in row))
    if "offset" in row:
        words.append(str(row["offset"]))
    if "timestamp" in row:
        words.append(_time(row["timestamp"]))
    if "timestampType" in row:
        words.append(TIMESTAMP_TYPES[row["timestampType"]])
    words += [f"{name} {_quoted(row[name])}" for name in ("key", "value") if name in row]
    if row.get("headers"):
        words.append(
            "headers " + " ".join(f"{_quoted(name.encode())}={_quoted(value)}" for name, value in row["headers"])
        )
    return " ".join(words)


def _quoted(data: bytes | None) -> str:
    """The bytes as a JSON string, which is always one line; ``null``, or base64 for bytes that are no UTF-8."""
    if data is None:
        return "null"
    text = _utf8(data)
    if text is None:
        return f"base64:{base64.b64encode(data).decode()}"
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _json(row: dict[str, Any]) -> str:
    made: dict[str, Any] = {}
    for name, value in row.items():
        if name == "timestamp":
            made[name] = _time(value)
        elif name == "timestampType":
            made[name] = TIMESTAMP_TYPES[value]
        elif name == "headers":
            made[name] = None if value is None else [{"key": key} | _field("value", data) for key, data in value]
        elif name in ("key", "value"):
            made |= _field(name, value)
        else:
            made[name] = value
    return json.dumps(made, ensure_ascii=False)


def _field(name: str, data: bytes | None) -> dict[str, str | None]:
    text = None if data is None else _utf8(data)
    if data is not None and text is None:
        return {f"{name}_base64": base64.b64encode(data).decode()}
    return {name: text}


def _utf8(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _time(timestamp_us: int) -> str:
    """ISO 8601 with milliseconds in UTC; the number of milliseconds where no date can hold it."""
    try:
        moment = EPOCH + timedelta(microseconds=timestamp_us)
    except OverflowError:
        return str(timestamp_us // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{timestamp_us // 1000 % 1000:03d}Z"
