"""The Parquet files of an exported topic: their names, how one is written, what is there already.

A file holds the records of one partition in the offsets [first, last] of its name, in offset order:

folder := <output>/<topic>/partition=<partition>
file   := <first, 20 digits>-<last, 20 digits>.parquet
part   := .<file>.partial, while it is written; readers ignore names that begin with a dot

A file is written under its partial name and synced, and then renamed: files are whole, whatever is killed. The range of
a name also covers offsets without a record (compaction, markers of transactions), so that the next export knows where
to go on. Needs pyarrow.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import parquet

from kafkastore.plain_files import begin_sync, sync_path
from kafkastore.system import sync_descriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kafkastore import _core
    from kafkastore.scanning.scan import Piece, Scan

NAME = re.compile(r"(\d{20})-(\d{20})\.parquet")
PARTIAL_SUFFIX = ".partial"
CONSTANT = ("topic", "partition", "timestampType")
"""Columns of few different values, which dictionaries make small."""
GROWING = ("offset", "timestamp")
"""Columns whose values are near to those before them, stored as differences."""
WITHOUT_STATISTICS = ("value", "headers")
TOPIC_ID = b"kafka.topic.id"


class StoppedError(Exception):
    """The export was stopped while a file was written."""


@dataclass(frozen=True, slots=True)
class FileOptions:
    """``compression``: Parquet's name, or none. ``row_group_bytes``: of Arrow columns, before compression."""

    compression: str
    row_group_bytes: int


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of a partition, with the offsets [``start_offset``, ``end_offset``)."""

    path: Path
    start_offset: int
    end_offset: int


def partition_folder(output: Path, topic: str, partition: int) -> Path:
    """The folder of a partition's files."""
    return output / topic / f"partition={partition}"


def exported_files(folder: Path) -> list[ExportedFile]:
    """The whole files of a partition, in order. Raises ValueError when two hold the same offsets."""
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    found = [
        ExportedFile(folder / name, int(match[1]), int(match[2]) + 1)
        for name in names
        if (match := NAME.fullmatch(name)) is not None
    ]
    for one, other in pairwise(found):
        if other.start_offset < one.end_offset:
            raise ValueError(f"{other.path} has offsets that {one.path.name} has, too; move one of them away")
    return found


def topic_id_of(file: ExportedFile) -> str | None:
    """The id of the topic that the file was exported from, None where it is not known. Raises ValueError for a file
    that is no Parquet."""
    try:
        metadata = parquet.read_schema(file.path).metadata or {}
    except pa.ArrowInvalid:
        raise ValueError(f"{file.path} is no Parquet file; remove it, and it is exported again") from None
    found = metadata.get(TOPIC_ID)
    return None if found is None else str(found.decode())


def write_piece(
    piece: Piece, folder: Path, topic: str, topic_id: str | None, options: FileOptions, progress: Callable[[int], None]
) -> tuple[Path, int, list[tuple[int, int, int]]]:
    """Writes and syncs the records of a piece under a partial name. Returns its path, the number of records, and the
    (partition, from, to) of offsets that were passed over; a file without records is left there, too. ``progress`` is
    told of records that were written, and raises
    :class:`StoppedError` to stop."""
    path = folder / f".{piece.start_offset:020}-{piece.end_offset - 1:020}.parquet{PARTIAL_SUFFIX}"
    scan = piece.share.opened()
    reader = pa.RecordBatchReader.from_stream(scan)
    names = reader.schema.names
    told = {
        b"kafka.topic": topic.encode(),
        b"kafka.partition": b"%d" % piece.partition,
        b"kafka.start.offset": b"%d" % piece.start_offset,
        b"kafka.end.offset": b"%d" % piece.end_offset,
        **({} if topic_id is None else {TOPIC_ID: topic_id.encode()}),
    }
    schema = reader.schema.with_metadata(told)
    leaves = [leaf for name in names for leaf in ([name] * 2 if name == "headers" else [name])]
    sorting = [parquet.SortingColumn(leaves.index("offset"))] if "offset" in names else None
    encodings = {name: "DELTA_BINARY_PACKED" for name in GROWING if name in names}
    records = begun = 0
    with path.open("wb") as file:
        with parquet.ParquetWriter(
            file,
            schema,
            compression=options.compression,
            use_dictionary=[name for name in CONSTANT if name in names],
            column_encoding=encodings or None,
            write_statistics=[name for name in names if name not in WITHOUT_STATISTICS],
            sorting_columns=sorting,
        ) as writer:
            for group in _row_groups(reader, scan, options.row_group_bytes):
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
                begin_sync(file.fileno(), begun, begun := file.tell())
                records += group.num_rows
                progress(group.num_rows)
        file.flush()
        sync_descriptor(file.fileno())
    return path, records, [lost[1:] for lost in scan.lost]


def batches_of(reader: pa.RecordBatchReader, scan: _core.Scan | Scan) -> Iterator[pa.RecordBatch]:
    """The batches of a scan's stream. Raises the scan's own error, which Arrow passes on as a text of another type."""
    try:
        yield from reader
    except (pa.ArrowException, OSError):
        if scan.failure is not None:
            raise scan.failure from None
        raise


def _row_groups(reader: pa.RecordBatchReader, scan: _core.Scan, size_bytes: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches_of(reader, scan):
        held.append(batch)
        size += batch.nbytes
        if size >= size_bytes:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def commit(partial: Path) -> Path:
    """Gives the file its name, which is durable when this returns."""
    path = partial.with_name(partial.name.removeprefix(".").removesuffix(PARTIAL_SUFFIX))
    partial.rename(path)
    sync_path(str(path.parent))
    return path


def remove_partials(folder: Path) -> None:
    """Removes what an export that was killed has left."""
    for path in folder.glob(f".*.parquet{PARTIAL_SUFFIX}"):
        path.unlink(missing_ok=True)
