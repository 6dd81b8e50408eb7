"""``kafkastore export``: a topic as Parquet files, on one machine and without Spark.

Reads the command line, shows progress on stderr and says what was written; ``scanning.export`` does the work.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.option_types import OFFSET_OR_TIME, SIZE
from kafkastore.cli.outcome import FailedError
from kafkastore.cli.progress import Reading, polled, progress_option
from kafkastore.cli.scan_options import bounds_options, damage_option, isolation_option, span_options
from kafkastore.system import processors

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kafkastore.scanning.bounds import Bound
    from kafkastore.scanning.export import Exported, ExportRequest, FileExport

CODECS = ("zstd", "snappy", "lz4", "gzip", "none")


@dataclass(frozen=True)
class ExportOptions:
    """The command line, checked."""

    log_dirs: tuple[str, ...]
    topic: str
    output: Path
    bootstrap_server: str | None
    command_config: str | None
    isolation_level: str
    start: Bound | None
    end: Bound | None
    columns: tuple[str, ...]
    compression: str
    file_size: int
    row_group_size: int
    threads: int | None
    allow_data_loss: bool
    ignores_corrupt_batches: bool
    is_json: bool
    shows_progress: bool


@click.command("export", no_args_is_help=True)
@click.argument("log_dirs", metavar="DIR...", nargs=-1, type=click.Path())
@click.option("--topic", metavar="NAME", help="The topic to export; needed.")
@click.option("--output", metavar="FOLDER", type=click.Path(path_type=Path), help="A folder for the files; needed.")
@bounds_options
@isolation_option
@click.option(
    "--from",
    "start",
    metavar="OFFSET|TIME",
    type=OFFSET_OR_TIME,
    help="Where a partition without files begins.  [default: its earliest offset]",
)
@span_options
@click.option("--compression", type=click.Choice(CODECS), default=CODECS[0], show_default=True)
@click.option(
    "--file-size",
    metavar="SIZE",
    type=SIZE,
    default="256M",
    show_default=True,
    help="Segment bytes of a file: bytes, or with k, M, G (1024).",
)
@click.option(
    "--row-group-size",
    metavar="SIZE",
    type=SIZE,
    default="64M",
    show_default=True,
    help="Bytes of a row group before compression.",
)
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(1, 1024),
    help="Files written at a time.  [default: one for each core]",
)
@damage_option
@click.option(
    "--allow-data-loss",
    is_flag=True,
    help="Go on where offsets have been deleted since the last call, and name them.",
)
@click.option("--json", "is_json", is_flag=True, help="One JSON object a line: each file, then the summary.")
@progress_option
def command(**given: Any) -> int:
    """Write a topic as Parquet files; the next call goes on where this one ended.

    The files are FOLDER/NAME/partition=N/<first offset>-<last offset>.parquet. Whatever is killed, files are whole and
    the next call goes on: no record is lost, none is there twice. DIR is an entry of log.dirs; a broker may run on it.
    A TIME is ISO 8601 with a zone, as 2026-01-31T12:00:00Z. Needs pyarrow: pip install 'kafkastore[arrow]'.

    Exit status: 0 done, 1 failed, 2 wrong usage, 130 Ctrl-C.
    """
    if not given["log_dirs"]:
        raise click.UsageError("no directory is given; name the entries of log.dirs")
    if not given["topic"]:
        raise click.UsageError("--topic is missing; name the topic to export")
    if given["output"] is None:
        raise click.UsageError("--output is missing; name a folder for the files")
    options = ExportOptions(**given)
    try:
        from kafkastore.scanning.export import ExportError
    except ImportError:
        raise FailedError("pyarrow is not installed; pip install 'kafkastore[arrow]'") from None
    from kafkastore._core import DataLossError, ScanError
    from kafkastore.cli.scan_sentences import error_sentence

    try:
        return _run(options)
    except BrokenPipeError:
        raise
    except DataLossError as error:
        raise FailedError(f"{error}; --allow-data-loss goes on behind them") from None
    except (ExportError, ScanError, ValueError, OSError) as error:
        raise FailedError(error_sentence(error)) from None


def _run(given: ExportOptions) -> int:
    from kafkastore.scanning.export import FileExport
    from kafkastore.scanning.unseen import sentence

    export = FileExport(_request(given))
    began = time.monotonic()
    files: list[Exported] = []
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning), export.locked():  # said at the end
        export.plan()
        with _polled(export, is_shown=given.shows_progress and not given.is_json):
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


def _request(given: ExportOptions) -> ExportRequest:
    from kafkastore.scanning.export import ExportRequest
    from kafkastore.scanning.parquet_files import FileOptions

    return ExportRequest(
        log_dirs=given.log_dirs,
        topic=given.topic,
        output=given.output,
        columns=given.columns,
        start=given.start,
        end=given.end,
        bootstrap_server=given.bootstrap_server,
        command_config=given.command_config,
        isolation_level=given.isolation_level,
        allows_data_loss=given.allow_data_loss,
        ignores_corrupt_batches=given.ignores_corrupt_batches,
        file_bytes=given.file_size,
        files=FileOptions(given.compression, given.row_group_size),
        threads=given.threads or processors(),
    )


def _polled(export: FileExport, *, is_shown: bool) -> AbstractContextManager[None]:
    began = time.monotonic()

    def read() -> Reading:
        part = min(export.records_done / max(export.offsets, 1), 1.0)
        size = export.segment_bytes / 1e9
        rate = part * size * 1e3 / (time.monotonic() - began)
        return Reading(part, 1.0, f"{part * size:.2f} of {size:.2f} GB, {rate:.0f} MB/s")

    return polled(read, is_shown=is_shown)


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
