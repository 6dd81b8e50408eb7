"""What the source gives is what a consumer reads: every column of every record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from clients.conftest import START_TIME_MS
from kafkastore.spark import schema
from spark.rows import places, read, records, without_headers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker

KAFKA_SOURCE = [
    ("key", "binary"),
    ("value", "binary"),
    ("topic", "string"),
    ("partition", "int"),
    ("offset", "bigint"),
    ("timestamp", "timestamp"),
    ("timestampType", "int"),
]
HEADERS = ("headers", "array<struct<key:string,value:binary>>")


@pytest.mark.parametrize("topic", ["codecs", "flights", "append-time"])
def test_every_column_equals_what_a_consumer_reads(spark: SparkSession, written: Written, topic: str) -> None:
    expected = written.records[topic]
    assert len(expected) > 40
    assert records(read(spark, written, topic, includeHeaders=True)) == expected
    assert records(read(spark, written, topic)) == without_headers(expected)


def test_the_schema_is_that_of_sparks_kafka_source(spark: SparkSession, written: Written) -> None:
    frame = read(spark, written, "flights")
    assert frame.dtypes == KAFKA_SOURCE
    with_headers = read(spark, written, "flights", INCLUDEHEADERS="TRUE")  # names without regard to case
    assert with_headers.dtypes == [*KAFKA_SOURCE, HEADERS]
    assert frame.schema == schema()


def test_an_empty_topic_gives_no_rows(spark: SparkSession, written: Written) -> None:
    assert read(spark, written, "empty").count() == 0
    assert read(spark, written, "empty", minPartitions=4).collect() == []


def test_a_schema_of_ones_own_leaves_columns_out(spark: SparkSession, written: Written) -> None:
    reader = spark.read.format("kafkastore").options(path=written.path, subscribe="flights")
    frame = reader.schema("Timestamp timestamp, offset long, headers array<struct<key:string,value:binary>>").load()
    assert frame.columns == ["Timestamp", "offset", "headers"]
    size = F.when(F.col("headers").isNotNull(), F.size("headers"))  # 3.5 has -1 for null
    found = frame.select(F.unix_millis("timestamp"), "offset", size).collect()
    expected = [(one.timestamp_ms, one.offset, len(one.headers or ()) or None) for one in written.records["flights"]]
    assert sorted(map(tuple, found), key=str) == sorted(expected, key=str)
    with pytest.raises(Exception, match="column value is binary, not string; read binary and convert the column"):
        reader.schema("value string").load().count()
    with pytest.raises(Exception, match="there is no column flight; there are key, value"):
        reader.schema("flight string").load().count()


def test_several_topics_come_by_name_by_pattern_and_by_assignment(spark: SparkSession, written: Written) -> None:
    both = without_headers(written.records["append-time"] + written.records["codecs"])
    assert records(read(spark, written, subscribe="codecs, append-time")) == both
    assert records(read(spark, written, subscribePattern="(codecs|append-.*)")) == both
    assert read(spark, written, subscribePattern="flight").count() == 0  # whole names, as in Kafka
    assigned = json.dumps({"flights": [0, 2], "codecs": [1]})
    expected = [
        one
        for topic in ("codecs", "flights")
        for one in without_headers(written.records[topic])
        if one.partition in (0, 2) or topic == "codecs"
        if topic == "flights" or one.partition == 1
    ]
    assert records(read(spark, written, assign=assigned)) == expected


def test_offsets_bound_the_range(spark: SparkSession, written: Written) -> None:
    start, end = {"0": 100, "1": -2, "2": 50}, {"0": 110, "1": 7, "2": -1}
    found = read(
        spark,
        written,
        "flights",
        startingOffsets=json.dumps({"flights": start}),
        endingOffsets=json.dumps({"flights": end}),
    )
    last = max(one.offset for one in written.records["flights"] if one.partition == 2)
    expected = [(0, offset) for offset in range(100, 110)] + [(1, offset) for offset in range(7)]
    assert places(found) == expected + [(2, offset) for offset in range(50, last + 1)]
    everything = read(spark, written, "flights", startingOffsets="Earliest", endingOffsets="latest")
    assert everything.count() == len(written.records["flights"])


def test_times_bound_the_range_and_come_before_offsets(spark: SparkSession, written: Written) -> None:
    start, end = START_TIME_MS + 500_000, START_TIME_MS + 700_000
    expected = [one[3:5] for one in written.records["flights"] if start <= one.timestamp_ms < end]
    one_time = {"startingTimestamp": start, "endingTimestamp": end}
    by_partition = {
        "startingOffsetsByTimestamp": json.dumps({"flights": dict.fromkeys("012", start)}),
        "endingOffsetsByTimestamp": json.dumps({"flights": dict.fromkeys("012", end)}),
    }
    assert places(read(spark, written, "flights", **one_time)) == expected
    assert places(read(spark, written, "flights", **by_partition)) == expected
    nothing = {"startingOffsetsByTimestamp": "{}", "startingOffsets": '{"flights":{"0":5}}'}
    assert places(read(spark, written, "flights", **one_time, **nothing)) == expected
    assert places(read(spark, written, "flights", startingOffsets='{"flights":{}}', **by_partition)) == expected


def test_a_time_that_no_record_reaches_is_an_error_or_the_latest(spark: SparkSession, written: Written) -> None:
    late = START_TIME_MS + 10_000_000
    with pytest.raises(Exception, match=rf'flights-0 has no record at {late} or later; .*Strategy to "latest"'):
        read(spark, written, "flights", startingTimestamp=late).count()
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert read(spark, written, "flights", startingTimestamp=late, **latest).count() == 0
    assert read(spark, written, "flights", endingTimestamp=late).count() == len(written.records["flights"])


def test_min_partitions_cuts_partitions_into_more_tasks(spark: SparkSession, written: Written) -> None:
    many = read(spark, written, "codecs", minPartitions=8, includeHeaders=True)
    assert many.rdd.getNumPartitions() >= 6
    assert records(many) == written.records["codecs"]
    few = read(spark, written, "codecs")
    assert few.rdd.getNumPartitions() <= 2
    by_size = read(spark, written, "flights", splitBytes=1_000_000)
    assert by_size.rdd.getNumPartitions() >= 4
    assert records(by_size) == without_headers(written.records["flights"])


def test_rows_of_a_task_come_in_offset_order(spark: SparkSession, written: Written) -> None:
    for rows in read(spark, written, "flights", minPartitions=5).select("partition", "offset").rdd.glom().collect():
        found = [(row.partition, row.offset) for row in rows]
        assert found == sorted(found)


def test_sql_over_a_view_counts_and_groups(spark: SparkSession, written: Written) -> None:
    read(spark, written, "flights").createOrReplaceTempView("flights")
    found = spark.sql("SELECT partition, count(*), max(offset) FROM flights GROUP BY partition ORDER BY partition")
    expected = [[one for one in written.records["flights"] if one.partition == partition] for partition in range(3)]
    assert [tuple(row) for row in found.collect()] == [
        (partition, len(its), its[-1].offset) for partition, its in enumerate(expected)
    ]


def test_crcs_may_be_left_unchecked(spark: SparkSession, written: Written) -> None:
    assert records(read(spark, written, "codecs", checkCrcs=False)) == without_headers(written.records["codecs"])
