"""Reads in tests: the source with options, and a data frame's rows as records."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from spark.conftest import Record, Written


def read(spark: SparkSession, written: Written, topic: str | None = None, **options: object) -> DataFrame:
    """A data frame over the written directories; `kafka_isolation_level` stands for `kafka.isolation.level`."""
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    if topic is not None:
        given["subscribe"] = topic
    return spark.read.format("kafkastore").options(**{"path": written.path, **given}).load()


def records(frame: DataFrame) -> list[Record]:
    """Every row of a frame with all columns, by topic, partition and offset."""
    return collected(with_millis(frame))


def with_millis(frame: DataFrame) -> DataFrame:
    """The frame with its timestamps as a record has them."""
    millis = F.unix_millis("timestamp").alias("timestamp")
    return frame.select(*(millis if name == "timestamp" else F.col(name) for name in frame.columns))


def collected(frame: DataFrame) -> list[Record]:
    """As `records`, of a frame that is `with_millis`: what is planned for it is read, as another select is not."""
    found = [_record(row.asDict(recursive=True)) for row in frame.collect()]
    return sorted(found, key=lambda one: one[2:5])


def _record(row: dict[str, Any]) -> Record:
    headers = row.get("headers")
    return Record(
        _bytes(row["key"]),
        _bytes(row["value"]),
        row["topic"],
        row["partition"],
        row["offset"],
        row["timestamp"],
        row["timestampType"],
        tuple((header["key"], _bytes(header["value"])) for header in headers) if headers is not None else None,
    )


def _bytes(data: bytearray | bytes | None) -> bytes | None:
    return None if data is None else bytes(data)


def without_headers(expected: list[Record]) -> list[Record]:
    return [record._replace(headers=None) for record in expected]


def places(frame: DataFrame) -> list[tuple[int, int]]:
    """(partition, offset) of every row, sorted; of the frame itself, so that what is planned for it is read."""
    return sorted((row.partition, row.offset) for row in frame.collect())


def planned(frame: DataFrame) -> DataFrame:
    """The frame with its ranges fixed, which Spark does once for a frame, when its tasks are counted."""
    assert frame._jdf.queryExecution().toRdd().getNumPartitions() > 0
    return frame
