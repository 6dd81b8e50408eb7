"""`segments(...).mapInArrow(scan_segments(...))`: the same rows, only the columns wanted, and sums made in the
worker."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from clients.conftest import START_TIME_MS
from kafkastore.spark import scan_segments, schema, segments
from kafkastore.spark.columns import COLUMNS
from spark.rows import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


def test_all_columns_equal_what_a_consumer_reads(spark: SparkSession, written: Written) -> None:
    plan = segments(spark, written.path, "codecs", minPartitions=6)
    rows = plan.mapInArrow(scan_segments(list(COLUMNS)), schema(include_headers=True))
    assert records(rows) == written.records["codecs"]


def test_each_share_is_a_task_of_its_own(spark: SparkSession, written: Written) -> None:
    plan = segments(spark, written.path, "codecs", minPartitions=6)
    assert [len(rows) for rows in plan.rdd.glom().collect()] == [1] * plan.count()
    assert plan.count() >= 5


def test_only_the_columns_that_are_named_come_in_their_order(spark: SparkSession, written: Written) -> None:
    plan = segments(spark, written.path, "flights")
    rows = plan.mapInArrow(scan_segments(["offset", "key"]), schema(["offset", "key"]))
    assert rows.columns == ["offset", "key"]
    found = sorted((row.offset, row.key and bytes(row.key)) for row in rows.collect() if row.key)
    assert found == sorted((one.offset, one.key) for one in written.records["flights"] if one.key)


def test_limits_hold_record_by_record(spark: SparkSession, written: Written) -> None:
    start, end = (dt.datetime.fromtimestamp(START_TIME_MS / 1000 + s, tz=dt.UTC) for s in (300, 900))
    scan = scan_segments(min_timestamp=start, end_timestamp=end, keys=[b"key-3", None])
    rows = segments(spark, written.path, "flights").mapInArrow(scan, schema())
    assert records(rows) == [
        one._replace(headers=None)
        for one in written.records["flights"]
        if START_TIME_MS + 300_000 <= one.timestamp_ms < START_TIME_MS + 900_000 and one.key in (b"key-3", None)
    ]


def test_a_function_of_ones_own_can_sum_in_the_worker(spark: SparkSession, written: Written) -> None:
    scan = scan_segments(["value"])

    def lengths(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in scan(batches):
            total = pc.sum(pc.binary_length(batch.column("value"))).as_py()
            yield pa.RecordBatch.from_pydict({"records": [batch.num_rows], "bytes": pa.array([total], pa.int64())})

    found = segments(spark, written.path, "flights").mapInArrow(lengths, "records long, bytes long")
    values = [one.value or b"" for one in written.records["flights"]]
    assert found.groupBy().sum().first() == (len(values), sum(map(len, values)))


def test_an_empty_topic_gives_no_rows(spark: SparkSession, written: Written) -> None:
    assert segments(spark, written.path, "empty").mapInArrow(scan_segments(), schema()).count() == 0


def test_mistakes_are_named_before_anything_runs(spark: SparkSession, written: Written) -> None:
    with pytest.raises(ValueError, match="columns: 'flight' is no column"):
        scan_segments(["flight"])
    with pytest.raises(ValueError, match=r"min_timestamp is datetime.* has no time zone"):
        scan_segments(min_timestamp=dt.datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(FileNotFoundError, match=r"there is no topic nobody in .*; name a topic"):
        segments(spark, written.path, "nobody")
    with pytest.raises(ValueError, match="includeHeaders: not for segments"):
        segments(spark, written.path, "flights", includeHeaders=True)
