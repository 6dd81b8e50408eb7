"""Spark's real-time mode: rows come while a batch lasts, and its end is a checkpoint that any trigger goes on from."""

from __future__ import annotations

import json
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 - Spark's usual name

from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until
from peer.topics import create_topic, end_offsets, read_topic
from spark.conftest import SMALL_SEGMENTS, produce
from spark.session import HAS_CONNECTOR
from spark.test_stream import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from peer.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a run starts a JVM and a broker
    pytest.mark.skipif(not HAS_CONNECTOR, reason="rows go to a sink that this mode takes: the connector's"),
]

LIMIT_S = 60
SHORT, LONG = "5 seconds", "10 minutes"
"""Spark's shortest batch, and one that no test sees the end of."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with closing(BrokerFactory("kafkastore", tmp_path / "brokers")) as factory:
        broker = factory()
        create_topic(broker.bootstrap, "flights", 2, SMALL_SEGMENTS)
        create_topic(broker.bootstrap, "copy", 1, {})
        yield broker


def source(spark: SparkSession, broker: BrokerProcess, way: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "flights", "startingOffsets": "earliest"}
    if way == "files":
        options["path"] = str(broker.log_dir)
    return spark.readStream.format("kafkastore").options(**options).load()


@contextmanager
def running(frame: DataFrame, broker: BrokerProcess, checkpoint: Path, duration: str) -> Iterator[StreamingQuery]:
    """A query in real-time mode that copies places of records to the topic ``copy``."""
    rows = frame.select(F.concat_ws(" ", "partition", "offset").alias("value"))
    writer: Any = rows.writeStream.format("kafka").outputMode("update").option("topic", "copy")
    writer = writer.option("kafka.bootstrap.servers", broker.bootstrap).option("checkpointLocation", str(checkpoint))
    query: StreamingQuery = writer.trigger(realTime=duration).start()
    try:
        yield query
    finally:
        query.stop()


def copied(broker: BrokerProcess) -> list[tuple[int, int]]:
    found = [(one.value() or b"").split() for one in read_topic(broker.bootstrap, "copy")]
    return sorted((int(partition), int(offset)) for partition, offset in found)


def wait_for(broker: BrokerProcess, query: StreamingQuery, rows: int) -> None:
    def are_there() -> bool:
        if query.exception() is not None:
            raise AssertionError(str(query.exception()))
        return end_offsets(broker.bootstrap, "copy")[0][1] >= rows

    wait_until(are_there, LIMIT_S, f"{rows} rows are in the copy")


@pytest.mark.parametrize("way", ["files", "network"])
def test_rows_come_while_the_batch_lasts(spark: SparkSession, broker: BrokerProcess, tmp_path: Path, way: str) -> None:
    produce(broker, "flights", 2, 100, "zstd")
    with running(source(spark, broker, way), broker, tmp_path / "checkpoint", LONG) as query:
        wait_for(broker, query, 100)
        for start in (100, 150):
            produce(broker, "flights", 2, 50, "none", start=start)
            wait_for(broker, query, start + 50)
        assert not query.recentProgress, "the first batch lasts"
    ends = end_offsets(broker.bootstrap, "flights")
    assert copied(broker) == [(number, offset) for number in range(2) for offset in range(ends[number][1])]


def test_the_end_of_a_batch_is_where_any_trigger_goes_on(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    produce(broker, "flights", 2, 100, "lz4")
    checkpoint = tmp_path / "checkpoint"
    frame = source(spark, broker, "files").filter("offset >= 10")
    with running(frame, broker, checkpoint, SHORT) as query:
        wait_for(broker, query, 80)
        wait_until(lambda: bool(query.recentProgress), LIMIT_S, "a batch has ended")
    (ended,) = json.loads(query.recentProgress[0].json)["sources"]
    assert ended["endOffset"] == {"flights": {"0": 50, "1": 50}}, "with what the filter left out"
    produce(broker, "flights", 2, 30, "none", start=100)
    run(source(spark, broker, "files"), tmp_path / "out", checkpoint)
    later = spark.read.parquet(str(tmp_path / "out" / "part-*")).select("partition", "offset")
    assert sorted(map(tuple, later.collect())) == [(number, offset) for number in range(2) for offset in range(50, 65)]
