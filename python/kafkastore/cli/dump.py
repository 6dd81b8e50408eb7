"""``kafkastore dump``: prints the records or batches of segment files, or writes them as Parquet.

This file reads the command line and finds the files; ``dump_records`` and ``dump_batches`` print. Nothing here writes
to a log directory. An error is one sentence on stderr; a reader that goes away (``| head``) is no error.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafkastore.cli.arguments import Parser, offset_or_time, whole_number
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    from kafkastore.scanning.bounds import Bound

USAGE = """\
usage: kafkastore dump PATH [TOPIC] [options]

Prints what segment files hold. PATH is a log directory (TOPIC may be left out when it has one topic), the
directory of a partition, or a .log file.

options:
  --from OFFSET|TIME     begin there; a time is ISO 8601 with a zone, as 2026-01-31T12:00:00Z
  --to OFFSET|TIME       end before it
  --partition N          that partition only; may be given again
  --format text|json|parquet
                         json is one object a line, bytes that are no UTF-8 as base64 in key_base64 and value_base64
  --output FILE          write there; parquet needs it
  --columns A,B,...      of key, value, topic, partition, offset, timestamp, timestampType, headers; all without
  --isolation-level read_uncommitted|read_committed
  --max-records N        end after N records (or batches)
  --ignore-corrupt-batches
                         go on behind batches that cannot be read, and name them
  --batches              headers of batches in the words of kafka-dump-log.sh; a wrong CRC is isvalid: false
  -h, --help             show this text

A directory is read as far as its checkpoints say that records are committed, a .log file to its end.
The exit status is 0, 1 when files are wrong or missing, 2 for a wrong command line.
"""

PARTITION_NAME = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})")


class DumpError(Exception):
    """The files that the command line names do not exist or cannot be dumped; one sentence."""


@dataclass(frozen=True)
class DumpSource:
    """The files that PATH names: a single .log file, ``file``, or else the topic's partitions below ``log_dir``."""

    log_dir: Path
    topic: str
    partitions: list[int] | None
    file: Path | None = None


@dataclass(frozen=True)
class DumpOptions:
    """The command line, checked."""

    path: Path
    topic: str | None
    start: Bound | None
    end: Bound | None
    partitions: list[int] | None
    format: str
    output: Path | None
    columns: tuple[str, ...]
    isolation_level: str
    max_records: int | None
    ignores_corrupt_batches: bool
    is_batches: bool


def main(arguments: list[str]) -> int:
    """Runs the command; returns the exit status. Raises UsageError."""
    options = parse_arguments(arguments)
    from kafkastore._core import ScanError
    from kafkastore.cli.scan_sentences import error_sentence

    try:
        source = find_source(options)
        if options.is_batches:
            from kafkastore.cli.dump_batches import dump_batches

            return dump_batches(source, options)
        from kafkastore.cli.dump_records import dump_records

        return dump_records(source, options)
    except BrokenPipeError:
        raise
    except OSError as error:
        sys.stderr.write(f"kafkastore dump: {os_sentence(error)}\n")
        return 1
    except (DumpError, ScanError, ValueError) as error:
        sys.stderr.write(f"kafkastore dump: {error_sentence(error)}\n")
        return 1


def os_sentence(error: OSError) -> str:
    """The error's file name and the system's reason; without these the error's own text."""
    return f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)


def parse_arguments(arguments: list[str]) -> DumpOptions:
    """Parses the command line. Raises UsageError with one sentence."""
    from kafkastore.scanning.bounds import COLUMNS, ISOLATION_LEVELS, as_columns

    parser = Parser("dump")
    parser.add_argument("path", metavar="PATH", type=Path)
    parser.add_argument("topic", metavar="TOPIC", nargs="?")
    parser.add_argument("--from", dest="start", type=offset_or_time)
    parser.add_argument("--to", dest="end", type=offset_or_time)
    parser.add_argument("--partition", dest="partitions", type=whole_number(0), action="append")
    parser.add_argument("--format", choices=("text", "json", "parquet"), default="text")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--columns", default=",".join(COLUMNS))
    parser.add_argument("--isolation-level", choices=ISOLATION_LEVELS, default=ISOLATION_LEVELS[0])
    parser.add_argument("--max-records", type=whole_number(0))
    parser.add_argument("--ignore-corrupt-batches", dest="ignores_corrupt_batches", action="store_true")
    parser.add_argument("--batches", dest="is_batches", action="store_true")
    given = vars(parser.parse_args(arguments))
    try:
        given["columns"] = as_columns([name.strip() for name in given["columns"].split(",")])
    except ValueError as error:
        raise UsageError(f"--{error}") from None
    options = DumpOptions(**given)
    if options.format == "parquet" and options.is_batches:
        raise UsageError("--batches are printed as text; leave --format parquet out")
    if options.is_batches and options.ignores_corrupt_batches:
        raise UsageError("--batches lists broken batches, too; leave --ignore-corrupt-batches out")
    if options.format == "parquet" and options.output is None:
        raise UsageError("--format parquet needs --output FILE")
    return options


def find_source(options: DumpOptions) -> DumpSource:
    """Finds the files that PATH names. Raises DumpError, or an OSError of one sentence."""
    path = options.path
    if path.is_file():
        return _file_source(options)
    if not path.is_dir():
        raise DumpError(f"{path} does not exist; give a log directory, a partition's directory or a .log file")
    if any(path.glob("*.log")):
        named = PARTITION_NAME.fullmatch(path.resolve().name)
        if named is None:
            raise DumpError(
                f"{path} holds segments but is not named as a partition (topic-0); rename it, or name one of its .log "
                "files"
            )
        _refuse(options, "is the directory of one partition")
        return DumpSource(path.resolve().parent, named["topic"], [int(named["partition"])])
    return DumpSource(path, options.topic or _only_topic(path), options.partitions)


def _file_source(options: DumpOptions) -> DumpSource:
    path = options.path
    if path.suffix != ".log":
        raise DumpError(f"{path} is no .log file; dump the .log file beside it, or its directory")
    _refuse(options, "is one file")
    if options.isolation_level == "read_committed" and not options.is_batches:
        raise DumpError(
            f"{path} alone does not tell which transactions were aborted; give its directory for read_committed"
        )
    named = PARTITION_NAME.fullmatch(path.resolve().parent.name)
    topic, partition = (named["topic"], int(named["partition"])) if named else (path.resolve().parent.name, 0)
    return DumpSource(path.resolve().parent.parent, topic, [partition], path)


def _refuse(options: DumpOptions, what: str) -> None:
    """Raises DumpError for TOPIC or --partition when PATH determines them already."""
    for name, value in (("TOPIC", options.topic), ("--partition", options.partitions)):
        if value is not None:
            raise DumpError(f"{options.path} {what}; leave {name} out")


def _only_topic(path: Path) -> str:
    from kafkastore.scanning.topics import topics

    found = [topic for topic in topics(path) if not topic.is_internal] or topics(path)
    if len(found) == 1:
        return found[0].name
    if not found:
        raise DumpError(f"{path} holds no topic; give a log directory, a partition's directory or a .log file")
    names = ", ".join(topic.name for topic in found[:20]) + (", ..." if len(found) > 20 else "")
    raise DumpError(f"{path} holds {len(found)} topics; name one of {names} after it")
