"""Segment files for ``DataFrame.mapInArrow``: a small data frame of shares, and the function that reads them.

    plan = kafkastore.spark.segments(spark, "/var/lib/kafka", "flights")
    rows = plan.mapInArrow(kafkastore.spark.scan_segments(["value"]), kafkastore.spark.schema(["value"]))

The second line decides which columns leave the Python worker. It may do more: ``scan_segments`` returns a plain
function from batches to batches, so a function of your own can call it and yield, say, one row of sums. Works on Spark
3.5 and newer, and through Spark Connect.
"""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

from kafkastore.interbroker.command_config import spark_options
from kafkastore.scanning.bounds import as_timestamp_ms
from kafkastore.spark import planning
from kafkastore.spark.columns import spark_schema
from kafkastore.spark.reading import read_share

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from kafkastore.interbroker.command_config import CommandConfig


def segments(
    spark: SparkSession,
    path: str | os.PathLike[str],
    topic: str | None = None,
    *,
    command_config: CommandConfig = None,
    **read_options: object,
) -> DataFrame:
    """Plans now what to read of ``topic`` below the log directories ``path``: a data frame with a row for each task,
    each in a partition of its own. ``read_options``: the options of format("kafkastore") (``startingOffsets=...``,
    ``minPartitions=8``, with ``subscribePattern`` or ``assign`` in place of ``topic``), with
    ``command_config`` for the brokers of ``kafka.bootstrap.servers``, see :func:`scan_segments`. Raises ValueError,
    ConfigError, FileNotFoundError, DataLossError, ScanError."""
    given = spark_options(command_config) | {name: _as_text(value) for name, value in read_options.items()}
    given["path"] = os.fspath(path)
    if topic is not None:
        given["subscribe"] = topic
    if any(name.lower() == "includeheaders" and value.strip().lower() != "false" for name, value in given.items()):
        raise ValueError("includeHeaders: not for segments(); name the columns in scan_segments()")
    shares = planning.plan(given, cores=_cores(spark))
    return _one_task_each(spark, shares)


def scan_segments(
    columns: Sequence[str] | None = None,
    *,
    min_timestamp: dt.datetime | None = None,
    end_timestamp: dt.datetime | None = None,
    keys: Iterable[bytes | None] | None = None,
    command_config: CommandConfig = None,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow`` over :func:`segments`: it yields the records of each row's share, with
    ``columns`` in this order (by default all but headers). Where given, it keeps only records from ``min_timestamp`` up
    to before ``end_timestamp`` (both aware), and records with one of ``keys`` (None is the null key). Where
    tasks do not see the files, they read from the brokers, with the ``command_config`` that is read here: the path of a
    client.properties, or its keys. Raises ValueError and ConfigError for a mistake."""
    names = spark_schema(columns).fieldNames()
    limits = {
        "minTimestampMs": None if min_timestamp is None else as_timestamp_ms("min_timestamp", min_timestamp),
        "endTimestampMs": None if end_timestamp is None else as_timestamp_ms("end_timestamp", end_timestamp),
        "keys": None if keys is None else [key and base64.b64encode(key).decode() for key in keys],
    }

    options = spark_options(command_config)

    def scan(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for text in batch.column("splits").to_pylist():
                yield from read_share(planning.Share.decode(text), names, limits, options=options)

    return scan


def _one_task_each(spark: SparkSession, shares: Sequence[planning.Share]) -> DataFrame:
    """A row for each share, each in a partition of its own. A range gives this without a shuffle; a shuffle might put
    two rows into one partition, and AQE might merge its partitions."""
    from pyspark.sql import functions

    def column(name: str, values: Sequence[int | str], kind: str) -> Column:
        literals = (
            functions.array(*map(functions.lit, values)) if values else functions.lit(None).cast(f"array<{kind}>")
        )
        return functions.get(literals, functions.col("id").cast("int")).cast(kind).alias(name)

    return spark.range(0, len(shares), 1, max(len(shares), 1)).select(
        functions.col("id").cast("int").alias("share"),
        column("bytes", [share.size_bytes for share in shares], "bigint"),
        column("splits", [share.encode() for share in shares], "string"),
    )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cores(spark: SparkSession) -> int | None:
    """How many tasks run at a time; None through Spark Connect, which does not give the number."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # noqa: BLE001 - Connect raises an error class of its own, which 3.5 does not have
        return None
