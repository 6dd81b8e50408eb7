"""Figures of topics: sizes, rates over time, keys, codecs, times.

Records are read by ``format("kafkastore")`` in three queries, each over the columns that it needs:

    a. by partition and time: records, bytes of keys and values, null keys, tombstones
    b. by topic: sizes of values, an estimate of distinct keys
    c. the heaviest keys of each topic, which needs a shuffle of all distinct keys

and the headers of batches by ``headers.py``. The ranges are fixed at the call, so the queries see the same records.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore import _core
from kafkastore.scanning.bounds import EARLIEST, LATEST
from kafkastore.scanning.topics import INTERNAL
from kafkastore.spark.jvm import SOURCE
from kafkastore.spark.pipeline.headers import BatchFigures, batch_figures
from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

BUCKETS: Final = 96
"""About so many points of a rate over time."""
BUCKET_MS: Final = tuple(
    seconds * 1000
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800)
)
PERCENTILES: Final = (0.5, 0.95, 0.99)
PERCENTILE_ACCURACY: Final = 1000
DISTINCT_ERROR: Final = 0.02
"""The relative standard deviation of the estimate of distinct keys."""


@dataclass
class PartitionStats:
    """A partition. Offsets [``start_offset``, ``end_offset``); ``segment_bytes`` are those of its batches."""

    partition: int
    start_offset: int
    end_offset: int
    records: int = 0
    segment_bytes: int = 0


@dataclass
class HeavyKey:
    """A key (None is the null key) and how many records have it."""

    key: bytes | None
    records: int


@dataclass
class TopicStats:
    """A topic. Times are ms since the epoch, None where there is no record."""

    topic: str
    partitions: list[PartitionStats]
    batches: BatchFigures
    bucket_ms: int
    records: int = 0
    payload_bytes: int = 0
    """Of keys and values, as they are when decompressed."""
    null_keys: int = 0
    tombstones: int = 0
    """Records with a key and no value."""
    first_timestamp_ms: int | None = None
    last_timestamp_ms: int | None = None
    rate: list[tuple[int, int, int]] = field(default_factory=list)
    """(beginning in ms, records, payload bytes) of each bucket that has records."""
    value_sizes: list[int] = field(default_factory=list)
    """The PERCENTILES of the bytes of values, then the greatest; empty without values."""
    distinct_keys: int | None = None
    """An estimate; None when keys were not looked at."""
    heavy_keys: list[HeavyKey] = field(default_factory=list)

    @property
    def segment_bytes(self) -> int:
        return self.batches.size_bytes

    @property
    def compression_ratio(self) -> float | None:
        """Payload bytes for each byte in segments."""
        return self.payload_bytes / self.segment_bytes if self.segment_bytes else None

    @property
    def span_s(self) -> float:
        """From the first to the last timestamp."""
        if self.first_timestamp_ms is None or self.last_timestamp_ms is None:
            return 0.0
        return (self.last_timestamp_ms - self.first_timestamp_ms) / 1000


def topic_stats(
    spark: SparkSession,
    log_dirs: Sequence[str],
    topics: Sequence[str] = (),
    *,
    top_keys: int = 10,
    options: Mapping[str, str] | None = None,
) -> list[TopicStats]:
    """The figures of the topics, by default of all but Kafka's own; ``options`` are more options of the source. With
    ``top_keys`` 0 keys are not looked at. Raises PipelineError, and Spark's errors."""
    plans = _plans(log_dirs, topics)
    headers = batch_figures(spark, plans)
    found = _empty(plans, headers)
    frame = _frame(spark, log_dirs, plans, options or {})
    if frame is None:
        return list(found.values())
    _add_rates(frame, found)
    _add_sizes(frame, found, with_keys=top_keys > 0)
    if top_keys:
        _add_heavy_keys(frame, found, top_keys)
    return list(found.values())


def _plans(log_dirs: Sequence[str], topics: Sequence[str]) -> list[_core.PartitionPlan]:
    try:
        names = list(topics) or sorted({one.topic for one in _core.list_partitions(list(log_dirs))} - INTERNAL)
        if not names:
            raise PipelineError(f"{', '.join(log_dirs)}: there is no topic; name the entries of log.dirs")
        bounds = {-1: ("offset", EARLIEST)}, {-1: ("offset", LATEST)}
        return [
            plan
            for name in names
            for plan in _core.plan_scan(list(log_dirs), name, start=bounds[0], end=bounds[1], keep_open=False)
        ]
    except (OSError, ValueError, _core.ScanError) as error:
        raise PipelineError(str(error)) from None


def _empty(
    plans: Sequence[_core.PartitionPlan], headers: Mapping[tuple[str, int], BatchFigures]
) -> dict[str, TopicStats]:
    """The figures that need no record."""
    found: dict[str, TopicStats] = {}
    for plan in plans:
        topic = found.setdefault(plan.topic, TopicStats(plan.topic, [], BatchFigures(), BUCKET_MS[0]))
        its = headers.get((plan.topic, plan.partition), BatchFigures())
        topic.batches.add(its)
        topic.partitions.append(
            PartitionStats(plan.partition, plan.start_offset, plan.end_offset, segment_bytes=its.size_bytes)
        )
    return found


def _frame(
    spark: SparkSession, log_dirs: Sequence[str], plans: Sequence[_core.PartitionPlan], options: Mapping[str, str]
) -> DataFrame | None:
    """The records of the plans; None when there are none."""
    starts: dict[str, dict[str, int]] = defaultdict(dict)
    ends: dict[str, dict[str, int]] = defaultdict(dict)
    for plan in plans:
        if plan.start_offset < plan.end_offset:
            starts[plan.topic][str(plan.partition)] = plan.start_offset
            ends[plan.topic][str(plan.partition)] = plan.end_offset
    if not starts:
        return None
    given = {
        "path": ",".join(log_dirs),
        "assign": json.dumps({topic: [int(number) for number in its] for topic, its in starts.items()}),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
    }
    return spark.read.format(SOURCE).options(**{**options, **given}).load()


def _add_rates(frame: DataFrame, found: Mapping[str, TopicStats]) -> None:  # a
    from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

    spans = frame.groupBy("topic").agg(F.max(F.unix_millis("timestamp")), F.min(F.unix_millis("timestamp"))).collect()
    for topic, last, first in spans:
        found[topic].first_timestamp_ms, found[topic].last_timestamp_ms = first, last
        found[topic].bucket_ms = _bucket_ms(last - first)
    widths = F.create_map(*(F.lit(part) for name, one in found.items() for part in (name, one.bucket_ms)))
    width = widths[F.col("topic")]
    bucket = (F.floor(F.unix_millis("timestamp") / width) * width).alias("bucket")
    key, value = F.col("key"), F.col("value")
    rows = frame.groupBy("topic", "partition", bucket).agg(
        F.count("*").alias("records"),
        F.sum(_length(key) + _length(value)).alias("payload"),
        F.count_if(key.isNull()).alias("null_keys"),
        F.count_if(key.isNotNull() & value.isNull()).alias("tombstones"),
    )
    rates: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in rows.collect():
        topic = found[row.topic]
        topic.records += row.records
        topic.payload_bytes += row.payload
        topic.null_keys += row.null_keys
        topic.tombstones += row.tombstones
        next(one for one in topic.partitions if one.partition == row.partition).records += row.records
        point = rates[row.topic][int(row.bucket)]
        point[0] += row.records
        point[1] += row.payload
    for name, points in rates.items():
        found[name].rate = [(start, records, size) for start, (records, size) in sorted(points.items())]


def _length(column: Column) -> Column:
    from pyspark.sql import functions

    return functions.coalesce(functions.length(column), functions.lit(0)).cast("long")


def _bucket_ms(span_ms: int) -> int:
    return next((width for width in BUCKET_MS if width * BUCKETS >= span_ms), BUCKET_MS[-1])


def _add_sizes(frame: DataFrame, found: Mapping[str, TopicStats], *, with_keys: bool) -> None:  # b
    from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

    size = F.length("value")
    wanted: list[Any] = [
        F.percentile_approx(size, list(PERCENTILES), PERCENTILE_ACCURACY).alias("sizes"),
        F.max(size).alias("greatest"),
    ]
    if with_keys:
        wanted.append(F.approx_count_distinct("key", DISTINCT_ERROR).alias("keys"))
    for row in frame.groupBy("topic").agg(*wanted).collect():
        if row.sizes is not None:
            found[row.topic].value_sizes = [*map(int, row.sizes), int(row.greatest)]
        if with_keys:
            found[row.topic].distinct_keys = int(row["keys"])


def _add_heavy_keys(frame: DataFrame, found: Mapping[str, TopicStats], top_keys: int) -> None:  # c
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

    counted = frame.groupBy("topic", "key").agg(F.count("*").alias("records"))
    order = Window.partitionBy("topic").orderBy(F.desc("records"), F.asc("key"))
    ranked = counted.withColumn("rank", F.row_number().over(order)).filter(F.col("rank") <= top_keys)
    for row in ranked.orderBy("topic", "rank").collect():
        found[row.topic].heavy_keys.append(HeavyKey(None if row.key is None else bytes(row.key), int(row.records)))
