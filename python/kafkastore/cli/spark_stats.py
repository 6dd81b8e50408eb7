"""``kafkastore spark stats``: its options; prints a table, or an object for each topic."""

from __future__ import annotations

import base64
import json
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

from kafkastore.cli.spark_arguments import spark_options
from kafkastore.cli.spark_session import run_verb, task_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments
    from kafkastore.spark.pipeline.stats import HeavyKey, TopicStats

WORTH_A_LINE: Final = 0.001
"""Of a topic's records: keys with fewer are not named to people."""
_TITLES = ("TOPIC", "PARTITIONS", "RECORDS", "STORED", "PAYLOAD/STORED", "CODEC", "BATCH", "KEYS", "FIRST", "LAST")


@click.command("stats")
@spark_options
@click.option(
    "--top-keys",
    metavar="N",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="The heaviest keys to name; 0 leaves keys alone, which is much faster.",
)
def command(arguments: SparkArguments) -> int:
    """Records, bytes, rates, keys, codecs and times by topic."""
    return run_verb("stats", arguments, understand, run)


def understand(arguments: SparkArguments) -> int:
    """How many keys to name. Raises UsageError."""
    if arguments.pattern is not None:
        raise click.UsageError("--topic-pattern is not for stats; give --topic NAME, or none for all topics")
    top_keys: int = arguments.own["top_keys"]
    return top_keys


def run(spark: SparkSession, arguments: SparkArguments, top_keys: int) -> int:
    from kafkastore.spark.pipeline.stats import topic_stats

    options = {**arguments.broker_options(), **arguments.options}
    with task_progress(spark, "stats", is_shown=arguments.shows_progress):
        found = topic_stats(spark, arguments.log_dirs, arguments.topics, top_keys=top_keys, options=options)
    for line in map(_as_json, found) if arguments.is_json else _as_text(found):
        sys.stdout.write(line + "\n")
    return 0


def _as_json(topic: TopicStats) -> str:
    from kafkastore.spark.pipeline.hints import hints

    codecs = {name: vars(one) for name, one in sorted(topic.batches.codecs.items())}
    return json.dumps(
        {
            "topic": topic.topic,
            "records": topic.records,
            "segment_bytes": topic.segment_bytes,
            "payload_bytes": topic.payload_bytes,
            "batches": topic.batches.batches,
            "control_batches": topic.batches.control_batches,
            "transactional_batches": topic.batches.transactional_batches,
            "codecs": codecs,
            "batches_by_size": {str(1 << one): count for one, count in sorted(topic.batches.size_classes.items())},
            "first_timestamp_ms": topic.first_timestamp_ms,
            "last_timestamp_ms": topic.last_timestamp_ms,
            "bucket_ms": topic.bucket_ms,
            "rate": topic.rate,
            "value_bytes": dict(zip(("p50", "p95", "p99", "max"), topic.value_sizes, strict=False)),
            "null_keys": topic.null_keys,
            "tombstones": topic.tombstones,
            "distinct_keys": topic.distinct_keys,
            "heavy_keys": [_key_as_json(one) for one in topic.heavy_keys],
            "partitions": [vars(one) for one in topic.partitions],
            "hints": hints(topic),
        }
    )


def _key_as_json(heavy: HeavyKey) -> dict[str, Any]:
    """The key as ``kafkastore dump`` writes it: text, or base64 where it is no UTF-8."""
    if heavy.key is None:
        return {"key": None, "records": heavy.records}
    try:
        return {"key": heavy.key.decode(), "records": heavy.records}
    except UnicodeDecodeError:
        return {"key_base64": base64.b64encode(heavy.key).decode(), "records": heavy.records}


def _as_text(topics: Sequence[TopicStats]) -> Iterator[str]:
    from kafkastore.spark.pipeline.hints import hints

    rows = [_TITLES, *map(_row, topics)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_TITLES))]
    for row in rows:
        name, *cells = (
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([name, *cells])
    for topic in topics:
        yield ""
        yield f"{topic.topic}:"
        yield from (f"  {hint}" for hint in hints(topic))
        if named := _heaviest(topic):
            yield f"  heaviest keys: {named}"


def _row(topic: TopicStats) -> tuple[str, ...]:
    from kafkastore.scanning.topics import readable

    batches = topic.batches.batches
    return (
        topic.topic,
        str(len(topic.partitions)),
        str(topic.records),
        readable(topic.segment_bytes),
        _ratio_of(topic),
        _codec_of(topic),
        readable(round(topic.segment_bytes / batches)) if batches else "-",
        "-" if topic.distinct_keys is None else f"~{topic.distinct_keys}",
        _time_of(topic.first_timestamp_ms),
        _time_of(topic.last_timestamp_ms),
    )


def _heaviest(topic: TopicStats) -> str:
    worth = (one for one in topic.heavy_keys if one.records >= WORTH_A_LINE * topic.records)
    return ", ".join(f"{key_text(one.key)} {one.records / topic.records:.1%}" for one in worth)


def key_text(key: bytes | None) -> str:
    """A key as text, in hexadecimal where it is none."""
    if key is None:
        return "null"
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return f"0x{key.hex()}"
    return text if text.isprintable() and text else f"0x{key.hex()}"


def _ratio_of(topic: TopicStats) -> str:
    """Payload bytes for each stored byte."""
    ratio = topic.compression_ratio
    return "-" if ratio is None else f"{ratio:.2f}"


def _codec_of(topic: TopicStats) -> str:
    """The codec of most bytes, and its share where there are several."""
    if not topic.segment_bytes:
        return "-"
    name, most = max(topic.batches.codecs.items(), key=lambda one: one[1].size_bytes)
    return name if len(topic.batches.codecs) == 1 else f"{name} {most.size_bytes / topic.segment_bytes:.0%}"


def _time_of(timestamp_ms: int | None) -> str:
    """A time in UTC to the minute."""
    try:
        return "-" if timestamp_ms is None else f"{datetime.fromtimestamp(timestamp_ms / 1000, UTC):%Y-%m-%d %H:%M}"
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
