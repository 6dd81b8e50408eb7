"""``kafkastore export``: a topic as Parquet files, on one machine and without Spark.

Reads the command line, shows progress on stderr and says what was written; ``scanning.export`` does the work.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from kafkastore.cli.arguments import Parser, offset_or_time, whole_number
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from kafkastore.scanning.export import Exported, ExportRequest, FileExport

USAGE = """\
usage: kafkastore export DIR... --topic NAME --output FOLDER [options]

Writes a topic as Parquet files: FOLDER/NAME/partition=N/<first offset>-<last offset>.parquet. Each call exports what
has come since the last one. Whatever is killed, files are whole and the next call goes on: no record is lost, none is
there twice. DIR is an entry of log.dirs; a broker may run on it. Needs pyarrow: pip install 'kafkastore[arrow]'.

options:
  --bootstrap-server H:P   asks this broker how far may be read; without, the checkpoints beside the segments say it
  --command-config FILE    for that broker: a client.properties with security.protocol, sasl.* and ssl.*
  --isolation-level read_uncommitted|read_committed
  --from OFFSET|TIME       where a partition without files begins (default: its earliest offset)
  --to OFFSET|TIME         only records before it
  --columns A,B,...        of key, value, topic, partition, offset, timestamp, timestampType, headers (default: all)
  --compression CODEC      zstd, snappy, lz4, gzip or none (default: zstd)
  --file-size SIZE         segment bytes of a file: bytes, or with k, M, G (1024) (default: 256M)
  --row-group-size SIZE    bytes of a row group before compression (default: 64M)
  --threads N              files written at a time (default: one for each core)
  --ignore-corrupt-batches go on behind batches that cannot be read, and name them
  --allow-data-loss        go on where offsets have been deleted since the last call, and name them
  --json                   one JSON object a line: each file, then the summary
  --no-progress            no progress bar (there is one only when stderr is a terminal)
  -h, --help               show this text

A TIME is ISO 8601 with a zone, as 2026-01-31T12:00:00Z.

exit status: 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C
"""

CODECS = ("zstd", "snappy", "lz4", "gzip", "none")
UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
SIZE = re.compile(r"(\d{1,12})([kMG]?)", re.ASCII)
_POLL_S = 0.2
_BAR_WIDTH = 30


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status, see USAGE. Raises UsageError."""
    given = _parsed(arguments)
    try:
        from kafkastore.scanning.export import ExportError
    except ImportError:
        sys.stderr.write("kafkastore export: pyarrow is not installed; pip install 'kafkastore[arrow]'\n")
        return 1
    from kafkastore._core import DataLossError, ScanError
    from kafkastore.cli.scan_sentences import error_sentence

    try:
        return _run(given)
    except BrokenPipeError:
        raise
    except DataLossError as error:
        sys.stderr.write(f"kafkastore export: {error}; --allow-data-loss goes on behind them\n")
    except (ExportError, ScanError, ValueError) as error:
        sys.stderr.write(f"kafkastore export: {error_sentence(error)}\n")
    except OSError as error:
        sentence = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error_sentence(error)
        sys.stderr.write(f"kafkastore export: {sentence}\n")
    return 1


def _run(given: argparse.Namespace) -> int:
    from kafkastore.scanning.export import FileExport
    from kafkastore.scanning.unseen import sentence

    export = FileExport(_request(given))
    began = time.monotonic()
    files: list[Exported] = []
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning), export.locked():  # said at the end
        export.plan()
        with _Progress(export, shown=not given.no_progress and not given.is_json and sys.stderr.isatty()):
            for file in export.run():
                files.append(file)
                if given.is_json:
                    sys.stdout.write(json.dumps(_as_json(file)) + "\n")
                    sys.stdout.flush()
    sys.stdout.write(_summary(export, files, time.monotonic() - began, is_json=given.is_json))
    sys.stdout.flush()
    for partition, start, end in export.lost:
        sys.stderr.write(f"kafkastore export: {given.topic}-{partition}: offsets {start} to {end} are lost\n")
    if not given.bootstrap_server and given.end is None and (left_out := export.unseen()):
        sys.stderr.write(f"kafkastore export: {sentence(given.topic, left_out)}; --bootstrap-server asks the broker\n")
    return 0


def _parsed(arguments: list[str]) -> argparse.Namespace:
    from kafkastore.scanning.bounds import COLUMNS, ISOLATION_LEVELS, as_columns

    parser = Parser("export", "; see kafkastore export --help")
    parser.add_argument("log_dirs", metavar="DIR", nargs="*")
    parser.add_argument("--topic")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--command-config")
    parser.add_argument("--isolation-level", choices=ISOLATION_LEVELS, default=ISOLATION_LEVELS[0])
    parser.add_argument("--from", dest="start", type=offset_or_time)
    parser.add_argument("--to", dest="end", type=offset_or_time)
    parser.add_argument("--columns", default=",".join(COLUMNS))
    parser.add_argument("--compression", choices=CODECS, default=CODECS[0])
    parser.add_argument("--file-size", type=_size, default=256 << 20)
    parser.add_argument("--row-group-size", type=_size, default=64 << 20)
    parser.add_argument("--threads", type=whole_number(1, 1024), default=len(os.sched_getaffinity(0)))
    parser.add_argument("--allow-data-loss", action="store_true")
    parser.add_argument("--ignore-corrupt-batches", action="store_true")
    parser.add_argument("--json", dest="is_json", action="store_true")
    parser.add_argument("--no-progress", action="store_true")
    given = parser.parse_intermixed_args(arguments)
    if not given.log_dirs:
        raise UsageError("no directory is given; name the entries of log.dirs")
    if not given.topic:
        raise UsageError("--topic is missing; name the topic to export")
    if given.output is None:
        raise UsageError("--output is missing; name a folder for the files")
    try:
        given.columns = as_columns([name.strip() for name in given.columns.split(",")])
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    return given


def _request(given: argparse.Namespace) -> ExportRequest:
    from kafkastore.scanning.export import ExportRequest
    from kafkastore.scanning.parquet_files import FileOptions

    return ExportRequest(
        log_dirs=tuple(given.log_dirs),
        topic=given.topic,
        output=given.output,
        columns=given.columns,
        start=given.start,
        end=given.end,
        bootstrap_server=given.bootstrap_server,
        command_config=given.command_config,
        isolation_level=given.isolation_level,
        allows_data_loss=given.allow_data_loss,
        ignores_corrupt_batches=given.ignore_corrupt_batches,
        file_bytes=given.file_size,
        files=FileOptions(given.compression, given.row_group_size),
        threads=given.threads,
    )


def _size(text: str) -> int:
    match = SIZE.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size; give bytes, or a number with k, M or G, as 256M")
    return int(match[1]) * UNITS[match[2]]


class _Progress:
    """A bar on stderr while files are written."""

    def __init__(self, export: FileExport, *, shown: bool) -> None:
        self._export = export
        self._is_done = threading.Event()
        self._thread = threading.Thread(target=self._show, name="export-progress", daemon=True) if shown else None
        self._began = time.monotonic()

    def __enter__(self) -> None:
        if self._thread is not None:
            self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_done.set()
        if self._thread is not None:
            self._thread.join()
            sys.stderr.write("\r\x1b[K")

    def _show(self) -> None:
        while not self._is_done.wait(_POLL_S):
            part = min(self._export.records_done / max(self._export.offsets, 1), 1.0)
            filled = round(part * _BAR_WIDTH)
            bar = "#" * filled + "-" * (_BAR_WIDTH - filled)
            size = self._export.segment_bytes / 1e9
            rate = part * size * 1e3 / (time.monotonic() - self._began)
            sys.stderr.write(f"\r[{bar}] {part:4.0%}  {part * size:.2f} of {size:.2f} GB, {rate:.0f} MB/s")
            sys.stderr.flush()


def _as_json(file: Exported) -> dict[str, object]:
    return {
        "file": str(file.path),
        "partition": file.partition,
        "start_offset": file.start_offset,
        "end_offset": file.end_offset,
        "records": file.records,
        "bytes": file.size_bytes,
    }


def _summary(export: FileExport, files: list[Exported], seconds: float, *, is_json: bool) -> str:
    records, size = sum(file.records for file in files), sum(file.size_bytes for file in files)
    if is_json:
        totals = {"topic": export.request.topic, "files": len(files), "records": records, "bytes": size}
        lost = [{"partition": number, "start_offset": start, "end_offset": end} for number, start, end in export.lost]
        return (
            json.dumps({**totals, "segment_bytes": export.segment_bytes, "seconds": round(seconds, 3), "lost": lost})
            + "\n"
        )
    rate = export.segment_bytes / max(seconds, 1e-9) / 1e6
    return (
        f"{records} records in {len(files)} {'file' if len(files) == 1 else 'files'} of {size / 1e6:.1f} MB in "
        f"{seconds:.2f} s ({rate:.0f} MB/s of segment files)\n"
    )
