"""A slice of a topic into another topic: keys, values, headers, timestamps and, where wanted, partitions are kept.

The ranges of offsets are fixed first, from the headers of batches. With a limit of records a second the ranges are cut
into pieces of about a second, written one after the other; without, they are one job. The order within a source's
partition is kept only for records that one task writes.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kafkastore.spark.jvm import SOURCE
from kafkastore.spark.pipeline.session import PipelineError, sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

PIECE_S: Final = 1.0
"""What a limited replay writes at a time is what the limit allows in this time."""
_BOUNDS: Final = ("starting", "ending", "subscribe", "assign")


@dataclass(frozen=True)
class Replay:
    """What to copy: ``options`` are those of the source, with one topic (``subscribe``) and bounds. ``write_options``
    are those of the sink, ``kafka.bootstrap.servers`` among them."""

    options: Mapping[str, str] = field(repr=False)
    target: str
    write_options: Mapping[str, str] = field(repr=False)
    keep_partitions: bool = False
    max_records_per_second: int | None = None


@dataclass(frozen=True)
class OffsetRange:
    """The offsets [``start``, ``end``) of a partition, and the records there."""

    partition: int
    start: int
    end: int
    records: int


@dataclass
class ReplayReport:
    """What was copied."""

    topic: str
    ranges: list[OffsetRange] = field(default_factory=list)
    records: int = 0


def plan_replay(spark: SparkSession, replay: Replay) -> list[OffsetRange]:
    """What would be copied now, by partition. Raises PipelineError, and Spark's errors."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

    if replay.options.get("subscribe") == replay.target:
        raise PipelineError(f"--to-topic {replay.target} is the topic that is read; name another one")
    frame = spark.read.format(SOURCE).options(**replay.options).load()
    counted = frame.groupBy("partition").agg(F.min("offset"), F.max("offset"), F.count("*")).collect()
    return [OffsetRange(number, first, last + 1, records) for number, first, last, records in sorted(counted)]


def replay_topic(spark: SparkSession, replay: Replay, copied: Callable[[int], None] = lambda _: None) -> ReplayReport:
    """Copies. Calls ``copied`` with the number of records so far. Raises PipelineError, which says how far it came."""
    ranges = plan_replay(spark, replay)
    report = ReplayReport(replay.options["subscribe"], ranges)
    began = time.monotonic()
    rate = replay.max_records_per_second
    at = {one.partition: one.start for one in ranges}
    for piece in _pieces(ranges, rate):
        try:
            report.records += _write(spark, replay, piece)
        except Exception as error:
            where = json.dumps({report.topic: {str(number): offset for number, offset in at.items()}})
            raise PipelineError(
                f"{sentence_of(error)}; {report.records} records were copied before; go on with --from '{where}'"
            ) from error
        at.update({one.partition: one.end for one in piece})
        copied(report.records)
        if rate is not None:
            time.sleep(max(0.0, began + report.records / rate - time.monotonic()))
    return report


def _pieces(ranges: Sequence[OffsetRange], rate: int | None) -> Iterator[list[OffsetRange]]:
    """The ranges cut into pieces, each with a share of every partition in the proportion of what is left of it."""
    nonempty = [one for one in ranges if one.records]
    offsets = sum(one.end - one.start for one in nonempty)
    if not nonempty:
        return
    count = 1 if rate is None else max(1, -(-sum(one.records for one in nonempty) // max(1, int(rate * PIECE_S))))
    count = min(count, offsets)
    for number in range(count):
        piece = []
        for one in nonempty:
            length = one.end - one.start
            start, end = one.start + length * number // count, one.start + length * (number + 1) // count
            if start < end:
                piece.append(OffsetRange(one.partition, start, end, 0))
        yield piece


def _write(spark: SparkSession, replay: Replay, piece: Sequence[OffsetRange]) -> int:
    """Copies a piece; returns how many records it has."""
    frame = _frame(spark, replay, piece)
    records = frame.count()  # from headers
    columns = ["key", "value", "headers", "timestamp", *(["partition"] if replay.keep_partitions else [])]
    writer = frame.select(*columns).write.format(SOURCE).mode("append")
    writer.options(**replay.write_options, topic=replay.target, includeTimestamps="true").save()
    return records


def _frame(spark: SparkSession, replay: Replay, piece: Sequence[OffsetRange]) -> DataFrame:
    topic = replay.options["subscribe"]
    kept = {name: value for name, value in replay.options.items() if not name.startswith(_BOUNDS)}
    given = {
        **kept,
        "includeHeaders": "true",
        "assign": json.dumps({topic: [one.partition for one in piece]}),
        "startingOffsets": json.dumps({topic: {str(one.partition): one.start for one in piece}}),
        "endingOffsets": json.dumps({topic: {str(one.partition): one.end for one in piece}}),
    }
    return spark.read.format(SOURCE).options(**given).load()
