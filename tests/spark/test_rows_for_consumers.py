"""Rows in place of columns where a query hands on what it reads: the same rows, and code still gets columns."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic
from spark.conftest import FLUSH_LIMIT_S, SMALL_SEGMENTS
from spark.session import IS_SPARK_4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a run starts a JVM and a broker
    pytest.mark.skipif(not IS_SPARK_4, reason="the session's extension adds nothing to Spark 3.5"),
]

ROWS = 6000
PARTITIONS = 3
AS_ROWS, AS_COLUMNS = "], rows", "ColumnarToRow"
Row = tuple[object, ...]


@pytest.fixture(scope="module")
def log_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys and values of every length around a word of eight bytes, empty, null, and larger than a first row's room."""
    broker = KafkastoreBroker(tmp_path_factory.mktemp("rows"))
    broker.start()
    create_topic(broker.bootstrap, "mixed", PARTITIONS, SMALL_SEGMENTS)
    chosen = random.Random(5)
    lengths = [None, *range(18), 100, 1000, 5000, 70_000]
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for number in range(ROWS):
        key, value = (length if length is None else chosen.randbytes(length) for length in chosen.choices(lengths, k=2))
        producer.produce("mixed", value, key, number % PARTITIONS, headers=[("a", b"b")] if number % 9 == 0 else None)
        producer.poll(0)
    assert producer.flush(FLUSH_LIMIT_S) == 0
    yield broker.log_dir
    broker.kill()


def read(spark: SparkSession, log_dir: Path, **options: str) -> DataFrame:
    return spark.read.format("kafkastore").options(path=str(log_dir), subscribe="mixed", **options).load()


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


def sorted_rows(frame: DataFrame) -> list[Row]:
    return sorted((tuple(row) for row in frame.collect()), key=lambda row: (row[3], row[4]))


@pytest.fixture(scope="module")
def expected(spark: SparkSession, log_dir: Path) -> list[Row]:
    """The rows out of columns: an expression makes Spark generate code."""
    frame = read(spark, log_dir)
    computed = frame.withColumn("more", F.col("offset") + 1)
    assert AS_COLUMNS in plan_of(computed)
    assert AS_ROWS not in plan_of(computed)
    rows = [row[:-1] for row in sorted_rows(computed)]
    assert len(rows) == ROWS
    return rows


def test_what_is_handed_on_is_read_as_rows(
    spark: SparkSession, log_dir: Path, expected: list[Row], tmp_path: Path
) -> None:
    """A collect, a write, shuffles, a sort, a union and a cache."""
    frame = read(spark, log_dir)
    assert AS_ROWS in plan_of(frame)
    assert AS_COLUMNS not in plan_of(frame)
    assert sorted_rows(frame) == expected
    frame.write.parquet(str(tmp_path / "parquet"))
    for other in (
        spark.read.parquet(str(tmp_path / "parquet")),
        frame.repartition(5, "key"),
        frame.orderBy(F.desc("offset"), "partition"),
        frame.where("partition = 1").union(frame.where("partition <> 1")),
        frame.cache(),
    ):
        assert sorted_rows(other) == expected
    frame.unpersist()
    assert len(read(spark, log_dir).limit(7).collect()) == 7


def test_code_gets_columns(spark: SparkSession, log_dir: Path, expected: list[Row]) -> None:
    """An aggregation, a join, and a column with columns within it."""
    frame = read(spark, log_dir)
    assert (
        frame.agg(F.sum(F.crc32("value"))).collect()
        == spark.createDataFrame([(row[1],) for row in expected], "value binary").agg(F.sum(F.crc32("value"))).collect()
    )
    joined = frame.join(read(spark, log_dir).select("partition", "offset", "key"), ["partition", "offset"])
    assert joined.count() == ROWS
    with_headers = read(spark, log_dir, includeHeaders="true")
    assert AS_ROWS not in plan_of(with_headers)
    assert sorted((row[3], row[4], bool(row[7])) for row in with_headers.collect()) == sorted(
        (number % PARTITIONS, number // PARTITIONS, number % 9 == 0) for number in range(ROWS)
    )


def test_a_stream_writes_rows_and_knows_how_many(
    spark: SparkSession, log_dir: Path, expected: list[Row], tmp_path: Path
) -> None:
    frame = (
        spark.readStream.format("kafkastore")
        .options(path=str(log_dir), subscribe="mixed", startingOffsets="earliest", maxOffsetsPerTrigger="2000")
        .load()
    )
    query = (
        frame.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "output"))
    )
    assert query.awaitTermination(120)
    plan = query._jsq.explainInternal(False)
    assert AS_ROWS in plan, plan
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == ROWS
    assert sorted_rows(spark.read.parquet(str(tmp_path / "output"))) == expected
