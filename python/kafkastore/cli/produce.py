"""``kafkastore produce``: writes records of lines, JSON, files or Avro. ``produce_records.py`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kafkastore.cli.cluster_options import cluster_options
from kafkastore.cli.completion import TOPIC
from kafkastore.cli.option_types import PARTITION

if TYPE_CHECKING:
    from kafkastore.cli.cluster_options import ClusterSettings

STDIN = Path("-")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EPILOG = """\
Without FILE, or with -, the records are the lines of stdin; each FILE is one record. As JSON a record is an object a
line: {"key": ..., "value": ..., "headers": {...}, "partition": 0, "timestamp": "2026-01-31T12:00:00Z"}, which is what
kafkastore consume --json prints; a value that is no text is written as JSON, or as Avro.

A line that is no record ends the command: the records before it are written, unless it is a transaction.
"""


@click.command("produce", epilog=EPILOG)
@cluster_options
@click.argument("topic", metavar="TOPIC", type=TOPIC)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(("lines", "json", "raw")), default="lines", show_default=True)
@click.option("-k", "--key", metavar="KEY", help="Of every record.")
@click.option("-K", "--key-separator", metavar="TEXT", help="Stands between key and value in a line; \\t is a tab.")
@click.option("-D", "--delimiter", metavar="TEXT", help="Stands between records in place of the end of a line.")
@click.option(
    "-H", "--header", "headers", metavar="NAME=VALUE", multiple=True, help="Of every record; may be repeated."
)
@click.option("-p", "--partition", type=PARTITION, metavar="N", help="[default: by the key, or in turn]")
@click.option("-t", "--timestamp", metavar="TIME", help="ISO 8601, or milliseconds.  [default: now]")
@click.option("-Z", "--tombstone", is_flag=True, help="Empty values are null.")
@click.option("-z", "--compression", type=click.Choice(CODECS), default="none", show_default=True)
@click.option("-a", "--acks", type=click.Choice(("all", "-1", "1", "0")), default="all", show_default=True)
@click.option("--transaction", is_flag=True, help="All records or none: they are one transaction.")
@click.option("--value-schema-file", metavar="FILE", help="Write values as Avro after this schema; needs JSON.")
@click.option("--schema-registry-url", metavar="URL", help="Write values as Avro after the newest schema there.")
@click.option("--subject", metavar="NAME", help="In the registry.  [default: TOPIC-value]")
@click.option("--json", "is_json", is_flag=True, help="The same as --format json.")
@click.option("-v", "--verbose", is_flag=True, help="Print where each record is: partition@offset.")
@click.option("--report", type=click.Choice(("text", "json")), help="The same as text, or as an object a record.")
@click.option("--progress", is_flag=True, help="Say on stderr how many are written, each second.")
def command(
    cluster: ClusterSettings,
    topic: str,
    files: tuple[Path, ...],
    format_: str,
    key: str | None,
    key_separator: str | None,
    delimiter: str | None,
    headers: tuple[str, ...],
    partition: int | None,
    timestamp: str | None,
    tombstone: bool,
    compression: str,
    acks: str,
    transaction: bool,
    value_schema_file: str | None,
    schema_registry_url: str | None,
    subject: str | None,
    is_json: bool,
    verbose: bool,
    report: str | None,
    progress: bool,
) -> int:
    """Write records: lines, JSON, files, Avro."""
    from kafkastore.cli.produce_records import ProduceOptions, produce

    format_ = "json" if is_json else format_
    if (value_schema_file or schema_registry_url) and format_ == "raw":
        raise click.UsageError("Avro is written of JSON; leave --format raw out")
    if value_schema_file and schema_registry_url:
        raise click.UsageError("--value-schema-file and --schema-registry-url both name a schema; give one")
    if key is not None and key_separator is not None:
        raise click.UsageError("--key is the key of every record; leave --key-separator out")
    return produce(
        ProduceOptions(
            cluster,
            topic,
            () if files == (STDIN,) else files,
            format_,
            key,
            _unescaped(key_separator),
            _unescaped(delimiter),
            _headers(headers),
            partition,
            timestamp,
            tombstone,
            {"compression.type": compression, "acks": acks},
            transaction,
            value_schema_file,
            schema_registry_url,
            subject or f"{topic}-value",
            report or ("text" if verbose else None),
            progress,
        )
    )


def _unescaped(text: str | None) -> bytes | None:
    """``\\t``, ``\\n`` and their like mean what they mean in a program."""
    if text is None:
        return None
    found = text
    for written, meant in (("\\t", "\t"), ("\\n", "\n"), ("\\r", "\r"), ("\\0", "\0")):
        found = found.replace(written, meant)
    if not found:
        raise click.UsageError("a separator cannot be empty; give one character or more")
    return found.encode(errors="surrogateescape")


def _headers(given: tuple[str, ...]) -> list[tuple[str, str]]:
    """In their order, and all of those that have one name. Raises click.UsageError."""
    found = []
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"-H {pair} is no name=value; write it as -H name=value")
        if name.encode(errors="ignore").decode() != name:
            raise click.UsageError(f"-H {pair!r}: the name of a header is text in UTF-8; take another")
        found.append((name, value))
    return found
