"""Filters in queries: the same rows pushed and not pushed, and pushed filters leave Spark nothing to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from clients.conftest import START_TIME_MS
from spark.rows import read, records

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

    from spark.conftest import Written

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker


def at(ms: int) -> Column:
    return F.timestamp_millis(F.lit(START_TIME_MS + ms))


def queries(topic: str) -> dict[str, tuple[Column, bool]]:
    """name -> (condition, whether all of it can be pushed); columns need a session, so they are made in a test."""
    return {
        "time": ((F.col("timestamp") >= at(300_000)) & (F.col("timestamp") < at(800_000)), True),
        "one key": (F.col("key") == F.lit(b"key-5"), True),
        "keys": (F.col("key").isin([b"key-1", b"key-2", b"nobody"]), True),
        "no key": (F.col("key").isNull(), True),
        "between milliseconds": (F.col("timestamp") > at(300_000) + F.expr("INTERVAL 500 MICROSECONDS"), True),
        "topic": (F.col("topic") == topic, True),
        "offsets": ((F.col("offset") > 100) & (F.col("offset") <= 130), True),
        "partition": ((F.col("partition") == 1) & (F.col("offset") < 40), True),
        "nothing": ((F.col("offset") > 10) & (F.col("offset") < 5), True),
        "a key and more": ((F.col("key") == F.lit(b"key-5")) & (F.length("value") > 0), False),
        "either": ((F.col("offset") == 5) | (F.col("partition") == 2), False),
        "any key": (F.col("key").isNotNull(), False),
        "not": (F.col("key") != F.lit(b"key-5"), False),
    }


@pytest.mark.parametrize("topic", ["flights", "codecs"])
def test_pushed_and_unpushed_filters_give_the_same_rows(spark: SparkSession, written: Written, topic: str) -> None:
    pushing = read(spark, written, topic, includeHeaders=True)
    plain = pushing.localCheckpoint()  # rows that Spark has: it filters them itself
    for name, (condition, is_exact) in queries(topic).items():
        expected = records(plain.filter(condition))
        assert records(pushing.filter(condition)) == expected, name
        assert bool(expected) == (name != "nothing"), name
        plan = str(pushing.filter(condition)._jdf.queryExecution().executedPlan())
        left = re.search(r"\bFilter\b", plan) is not None
        assert left != is_exact, f"{name}: {'Spark' if left else 'the source'} applies it"


def test_filters_hold_beside_bounds_and_a_schema_of_ones_own(spark: SparkSession, written: Written) -> None:
    bounds = {"startingOffsets": '{"flights":{"0":20,"1":20,"2":20}}', "endingTimestamp": str(START_TIME_MS + 300_000)}
    reader = spark.read.format("kafkastore").options(path=written.path, subscribe="flights", **bounds)
    narrow = reader.schema("key binary, offset long").load()
    condition = (F.col("key") == F.lit(b"key-5")) & (F.col("offset") < 60)
    expected = [
        one.offset
        for one in written.records["flights"]
        if one.key == b"key-5" and 20 <= one.offset < 60 and one.timestamp_ms < START_TIME_MS + 300_000
    ]
    assert expected
    assert sorted(row.offset for row in narrow.filter(condition).collect()) == sorted(expected)


def test_a_plan_with_filters_is_not_run_for_a_query_without(spark: SparkSession, written: Written) -> None:
    loaded = read(spark, written, "flights")
    everything = len(written.records["flights"])
    for condition in ("offset < 10", "offset < 20", "offset < 5 OR partition = 1"):
        assert 0 < len(loaded.filter(condition).select("key").collect()) < everything
        assert len(loaded.select("key").collect()) == everything
