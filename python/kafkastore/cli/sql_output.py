"""Writes the answer of ``kafkastore sql``: a table for people, CSV, JSON, Parquet or Arrow.

DuckDB makes the texts (of a table, of JSON objects, of CSV's cells), pyarrow writes Parquet and Arrow. A file appears
whole or not at all. Only a table holds rows back: those that it shows.
"""

from __future__ import annotations

import csv
import io
import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

import duckdb
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.cli.sql import SqlOptions

ANY_WIDTH = 1 << 20


def write(batches: Iterator[pa.RecordBatch], options: SqlOptions) -> None:
    """Writes the batches, of which the first says the schema and has no rows; no batch is no answer (a statement that
    gives no rows)."""
    first = next(batches, None)
    if first is None:
        return
    with _opened(options) as out:
        reader = pa.RecordBatchReader.from_batches(first.schema, batches)
        if options.format == "table":
            _write_table(reader, out, options)
        elif options.format == "parquet":
            _write_parquet(reader, out)
        elif options.format == "arrow":
            _write_arrow(reader, out, is_file=options.output is not None)
        elif options.format == "csv":
            _write_csv(reader, out)
        else:
            _write_json(reader, out, is_array=options.format == "json")


@contextmanager
def _opened(options: SqlOptions) -> Iterator[BinaryIO]:
    if options.output is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    partial = options.output.with_name(f"{options.output.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(options.output)
    finally:
        partial.unlink(missing_ok=True)


def _write_table(reader: pa.RecordBatchReader, out: BinaryIO, options: SqlOptions) -> None:
    """The first rows, and a line on stderr when there are more."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        held.append(batch)
        rows += batch.num_rows
        if rows > options.max_rows:
            break
    table = pa.Table.from_batches(held, reader.schema)
    if table.column_names == ["explain_key", "explain_value"]:
        out.write("\n".join(table.column("explain_value").to_pylist()).encode())
        return
    is_terminal = options.output is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if is_terminal else ANY_WIDTH
    with duckdb.connect() as database:
        database.execute("set timezone = 'UTC'")
        database.register("answer", table.slice(0, options.max_rows))
        shown = io.StringIO()
        standard, sys.stdout = sys.stdout, shown
        try:
            database.sql("from answer").show(max_rows=options.max_rows, max_width=width, max_col_width=width)
        finally:
            sys.stdout = standard
        out.write(shown.getvalue().rstrip("\n").encode() + b"\n")
    out.flush()
    if rows > options.max_rows:
        sys.stderr.write(
            f"kafkastore sql: there are more rows than the {options.max_rows} that are shown; --max-rows N shows more, "
            "--format csv gives all\n"
        )


def _write_parquet(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    from pyarrow import parquet

    with parquet.ParquetWriter(out, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_arrow(reader: pa.RecordBatchReader, out: BinaryIO, *, is_file: bool) -> None:
    """Arrow's IPC file, or the stream for a pipe."""
    sink = pa.PythonFile(out, mode="w")
    new = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with new(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_csv(reader: pa.RecordBatchReader, out: BinaryIO) -> None:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(reader.schema.names)
        with duckdb.connect() as database:
            for batch in _answer_of(database, "select columns(*)::varchar from answer", reader):
                writer.writerows(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    finally:
        text.detach()  # else the file is closed with it


def _write_json(reader: pa.RecordBatchReader, out: BinaryIO, *, is_array: bool) -> None:
    with duckdb.connect() as database:
        between = b"[\n" if is_array else b""
        for batch in _answer_of(database, "select to_json(answer) from answer", reader):
            rows = (",\n" if is_array else "\n").join(batch.column(0).to_pylist())
            out.write(between + rows.encode())
            between = b",\n" if is_array else b"\n"
        if is_array:
            out.write(b"[\n]\n" if between == b"[\n" else b"\n]\n")
        elif between:
            out.write(b"\n")


def _answer_of(
    database: duckdb.DuckDBPyConnection, query: str, reader: pa.RecordBatchReader
) -> Iterator[pa.RecordBatch]:
    database.execute("set timezone = 'UTC'")
    database.register("answer", reader)
    yield from (batch for batch in database.sql(query).to_arrow_reader(8192) if batch.num_rows)
