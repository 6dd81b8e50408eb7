"""``kafkastore dump``: prints the records or batches of segment files, or writes them as Parquet.

This file reads the command line and finds the files; ``dump_records`` and ``dump_batches`` print. Nothing here writes
to a log directory. An error is one sentence on stderr; a reader that goes away (``| head``) is no error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kafkastore.cli.option_types import OFFSET_OR_TIME
from kafkastore.cli.outcome import FailedError
from kafkastore.cli.scan_options import damage_option, isolation_option, span_options

if TYPE_CHECKING:
    from kafkastore.scanning.bounds import Bound

PARTITION_NAME = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>\d{1,10})")


class DumpError(FailedError):
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


@click.command("dump")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("topic", metavar="[TOPIC]", required=False)
@click.option("--from", "start", metavar="OFFSET|TIME", type=OFFSET_OR_TIME, help="Begin there.")
@span_options
@click.option(
    "--partition",
    "partitions",
    metavar="N",
    type=click.IntRange(0),
    multiple=True,
    help="That partition only; may be given again.",
)
@click.option(
    "--format",
    type=click.Choice(("text", "json", "parquet")),
    default="text",
    show_default=True,
    help="json is one object a line, bytes that are no UTF-8 as base64 in key_base64 and value_base64.",
)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path), help="Write there; parquet needs it.")
@isolation_option
@click.option("--max-records", metavar="N", type=click.IntRange(0), help="End after N records (or batches).")
@damage_option
@click.option(
    "--batches",
    "is_batches",
    is_flag=True,
    help="Headers of batches in the words of kafka-dump-log.sh; a wrong CRC is isvalid: false.",
)
def command(partitions: tuple[int, ...], **given: Any) -> int:
    """Print the records or batches of segment files as text, JSON or Parquet.

    PATH is a log directory (TOPIC may be left out when it has one topic), the directory of a partition, or a .log file.
    A directory is read as far as its checkpoints say that records are committed, a .log file to its end. A TIME is ISO
    8601 with a zone, as 2026-01-31T12:00:00Z.

    Exit status: 0, 1 when files are wrong or missing, 2 for a wrong command line.
    """
    options = DumpOptions(partitions=list(partitions) or None, **given)
    if options.format == "parquet" and options.is_batches:
        raise click.UsageError("--batches are printed as text; leave --format parquet out")
    if options.is_batches and options.ignores_corrupt_batches:
        raise click.UsageError("--batches lists broken batches, too; leave --ignore-corrupt-batches out")
    if options.format == "parquet" and options.output is None:
        raise click.UsageError("--format parquet needs --output FILE")
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
    except (OSError, ScanError, ValueError) as error:
        raise FailedError(error_sentence(error)) from None


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
