"""Streams of `format("kafkastore")`: each record once, batch by batch, over stops and with Spark's own checkpoints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import NewPartitions

from clients.conftest import START_TIME_MS
from peer.broker_factory import BrokerFactory
from peer.topics import admin_client, create_topic, end_offsets
from spark.conftest import SMALL_SEGMENTS, produce

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from peer.broker_process import BrokerProcess
    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker

LIMIT_S = 60


def stream(spark: SparkSession, path: str, **options: object) -> DataFrame:
    given = {name.replace("_", "."): str(value) for name, value in options.items()}
    return spark.readStream.format("kafkastore").options(**{"path": path, "subscribe": "flights", **given}).load()


def run(frame: DataFrame, folder: Path, checkpoint: Path) -> StreamingQuery:
    """Everything that is there now, into Parquet files; the query has ended."""
    writer: Any = frame.writeStream.format("parquet").option("path", str(folder))
    query: StreamingQuery = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(LIMIT_S)
    return query


def places(spark: SparkSession, folder: Path) -> list[tuple[int, int]]:
    return sorted(map(tuple, spark.read.parquet(str(folder)).select("partition", "offset").collect()))


def test_a_stream_gives_each_record_once_in_batches_of_the_wanted_size(
    spark: SparkSession, written: Written, tmp_path: Path
) -> None:
    rows = written.records["flights"]
    frame = stream(spark, written.path, startingOffsets="earliest", maxOffsetsPerTrigger=500)
    query = run(frame, tmp_path / "out", tmp_path / "checkpoint")
    assert places(spark, tmp_path / "out") == sorted(one[3:5] for one in rows)
    sizes = [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]
    assert len(sizes) >= len(rows) // 500
    assert max(sizes) <= 500 + 3, "a share of each partition, rounded up"
    last = query.recentProgress[-1]["sources"][0]
    assert last["metrics"]["maxOffsetsBehindLatest"] == "0"
    ends = {str(number): 1 + max(one.offset for one in rows if one.partition == number) for number in range(3)}
    assert json.loads(str(last["endOffset"]).replace("'", '"')) == {"flights": ends}


def test_bytes_bound_a_batch_too(spark: SparkSession, written: Written, tmp_path: Path) -> None:
    frame = stream(spark, written.path, startingOffsets="earliest", maxBytesPerTrigger=1_000_000)
    query = run(frame, tmp_path / "out", tmp_path / "checkpoint")
    assert len(places(spark, tmp_path / "out")) == len(written.records["flights"])
    sizes = [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]
    assert len(sizes) >= 4
    assert max(sizes) < 600


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    factory = BrokerFactory("kafkastore", tmp_path / "brokers")
    yield factory()
    factory.close()


def test_a_stream_goes_on_where_it_was_and_sees_new_records_and_partitions(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(broker.bootstrap, "flights", 2, SMALL_SEGMENTS)
    produce(broker, "flights", 2, 100, "zstd")
    options = {"startingOffsets": "earliest", "kafka_bootstrap_servers": broker.bootstrap}
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    run(stream(spark, str(broker.log_dir), **options), out, checkpoint)
    assert len(places(spark, out)) == 100
    run(stream(spark, str(broker.log_dir), **options), out, checkpoint)
    assert len(places(spark, out)) == 100, "nothing is new"
    produce(broker, "flights", 2, 50, "lz4", start=100)
    grow(broker, "flights", 3)
    produce(broker, "flights", 3, 30, "none", start=150)
    run(stream(spark, str(broker.log_dir), **options), out, checkpoint)
    expected = [
        (number, offset)
        for number, (_, end) in end_offsets(broker.bootstrap, "flights").items()
        for offset in range(end)
    ]
    assert places(spark, out) == sorted(expected)
    assert len(expected) == 180


def grow(broker: BrokerProcess, topic: str, partitions: int) -> None:
    admin = admin_client(broker.bootstrap)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(LIMIT_S)


def test_without_a_start_a_stream_begins_at_the_latest_and_remembers_it(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(broker.bootstrap, "flights", 1, SMALL_SEGMENTS)
    produce(broker, "flights", 1, 20, "none")
    options = {"kafka_bootstrap_servers": broker.bootstrap}
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    run(stream(spark, str(broker.log_dir), **options), out, checkpoint)
    initial = (checkpoint / "sources" / "0" / "0").read_bytes()
    assert initial == b'\x00v1\n{"flights":{"0":20}}', "as Spark's Kafka source writes it"
    produce(broker, "flights", 1, 5, "none", start=20)
    run(stream(spark, str(broker.log_dir), **options), out, checkpoint)
    assert places(spark, out) == [(0, offset) for offset in range(20, 25)]


def test_mistakes_in_limits_are_one_sentence(spark: SparkSession, written: Written, tmp_path: Path) -> None:
    for options, sentence in (
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger: '0' is no whole number above 0; give one"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"},
            "minOffsetsPerTrigger: 9 is more than 8 of maxOffsetsPerTrigger; give the smaller number here",
        ),
    ):
        with pytest.raises(Exception, match=sentence):
            run(stream(spark, written.path, startingOffsets="earliest", **options), tmp_path / "o", tmp_path / "c")


def test_a_stream_may_begin_at_a_time(spark: SparkSession, written: Written, tmp_path: Path) -> None:
    start = START_TIME_MS + 1_500_000
    run(stream(spark, written.path, startingTimestamp=start), tmp_path / "out", tmp_path / "checkpoint")
    expected = [one[3:5] for one in written.records["flights"] if one.timestamp_ms >= start]
    assert places(spark, tmp_path / "out") == sorted(expected)
    assert expected
