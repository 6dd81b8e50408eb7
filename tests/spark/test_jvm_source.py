"""What only `format("kafkastore")` does: columns, counts and limits that Spark leaves to the source, and their
plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

import kafkastore.spark
from clients.conftest import START_TIME_MS
from peer.topics import create_topic
from spark.conftest import SMALL_SEGMENTS, Written, produce
from spark.rows import places, read

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from peer.broker_factory import BrokerFactory

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


def test_counts_and_extents_are_answered_by_headers(spark: SparkSession, written: Written) -> None:
    for topic in ("flights", "codecs", "append-time", "empty"):
        rows = written.records[topic]
        offsets, times = [one.offset for one in rows], [one.timestamp_ms for one in rows]
        frame = read(spark, written, topic).agg(
            F.count("*"), F.count("offset"), F.min("offset"), F.max("offset"), F.unix_millis(F.max("timestamp"))
        )
        assert "LocalTableScan" in plan_of(frame), topic
        expected = (len(rows), len(rows), *((min(offsets), max(offsets), max(times)) if rows else (None, None, None)))
        assert tuple(frame.collect()[0]) == expected, topic
    assert read(spark, written, "flights").count() == len(written.records["flights"])


def test_counts_by_partition_and_within_limits_are_answered_by_headers(spark: SparkSession, written: Written) -> None:
    frame = read(spark, written, subscribe="flights,empty").groupBy("topic", "partition").count()
    assert "LocalTableScan" in plan_of(frame)
    rows = written.records["flights"]
    expected = [("flights", number, sum(one.partition == number for one in rows)) for number in range(3)]
    assert sorted(map(tuple, frame.collect())) == expected
    late = F.timestamp_millis(F.lit(START_TIME_MS + 400_500))
    found = read(spark, written, "flights").filter((F.col("offset") >= 50) & (F.col("timestamp") < late))
    wanted = [one for one in rows if one.offset >= 50 and one.timestamp_ms < START_TIME_MS + 400_500]
    assert "LocalTableScan" in plan_of(found.groupBy().count())
    assert found.count() == len(wanted) > 0


def test_what_headers_do_not_say_is_read(spark: SparkSession, written: Written) -> None:
    frame = read(spark, written, "flights")
    rows = written.records["flights"]
    for aggregated, expected in (
        (frame.agg(F.count("key")), sum(one.key is not None for one in rows)),
        (frame.agg(F.count_distinct("partition")), 3),
        (frame.filter(F.col("key") == F.lit(b"key-5")).agg(F.count("*")), sum(one.key == b"key-5" for one in rows)),
        (frame.agg(F.sum(F.length("value"))), sum(len(one.value or b"") for one in rows)),
        (frame.agg(F.unix_millis(F.min("timestamp"))), min(one.timestamp_ms for one in rows)),
    ):
        assert "LocalTableScan" not in plan_of(aggregated)
        assert aggregated.collect()[0][0] == expected


def test_only_wanted_columns_are_read_and_a_task_ends_at_the_limit(spark: SparkSession, written: Written) -> None:
    frame = read(spark, written, "flights", includeHeaders=True)
    plan = plan_of(frame.select("offset", "headers.key").limit(7))
    assert "columns [offset, headers]" in plan
    assert "limit 7" in plan
    assert len(frame.select("offset").limit(7).collect()) == 7
    assert frame.limit(10**6).count() == len(written.records["flights"])
    assert "flights-0 [0, " in plan_of(frame)


def test_each_query_over_a_frame_sees_what_was_acknowledged_before_it(
    spark: SparkSession, broker_factory: BrokerFactory
) -> None:
    broker = broker_factory(kind="kafkastore")
    create_topic(broker.bootstrap, "live", 2, SMALL_SEGMENTS)
    frame = read(spark, Written(broker.log_dirs, {}), "live", kafka_bootstrap_servers=broker.bootstrap)
    written = 0
    for count in (200, 500):
        produce(broker, "live", 2, count - written, "zstd", written)
        written = count
        assert frame.count() == count
        assert places(frame.select("*")) == [
            (partition, offset) for partition in range(2) for offset in range(count // 2)
        ]


def test_batches_are_freed(spark: SparkSession, written: Written) -> None:
    def used_kb() -> int:
        pid = spark._jvm.ProcessHandle.current().pid()  # type: ignore[union-attr]
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

    def read_all(times: int) -> None:
        for _ in range(times):
            read(spark, written, "flights", includeHeaders=True).write.format("noop").mode("overwrite").save()
            read(spark, written, "flights").limit(3).collect()  # tasks that end early

    read_all(30)
    before = used_kb()
    read_all(60)
    size = sum(len(one.value or b"") for one in written.records["flights"]) * 60
    assert (used_kb() - before) * 1024 < size // 3


def test_the_jar_is_put_beside_those_of_the_builder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Builder:
        def __init__(self) -> None:
            self._options = {"spark.jars": "/a.jar"}

        def config(self, name: str, value: str) -> Builder:
            self._options[name] = value
            return self

    monkeypatch.setattr(kafkastore.spark.jvm, "__file__", str(tmp_path / "jvm.py"))
    with pytest.raises(FileNotFoundError, match="in a checkout, where there is a JDK, `make spark-jar` makes it"):
        kafkastore.spark.jar()
    jar = tmp_path / "jars" / "kafkastore-spark.jar"
    jar.parent.mkdir()
    jar.touch()
    assert kafkastore.spark.jar() == str(jar)
    builder = kafkastore.spark.configure(kafkastore.spark.configure(Builder()))
    assert builder._options["spark.jars"] == f"/a.jar,{jar}"
