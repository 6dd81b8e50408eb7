"""Lengths of keys and values: with the extension of the optimizer the scan gives sizes, and answers are those of the
bytes."""

from __future__ import annotations

from collections.abc import Callable

import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody has it

from spark.conftest import Written

EXTENSION = "io.kafkastore.spark.SizesForLengths"
QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "sums": lambda frame: frame.agg(F.sum(F.length("value")), F.max(F.length("key")), F.count("*")),
    "by partition": lambda frame: frame.groupBy("partition").agg(F.avg(F.length("value"))),
    "each": lambda frame: frame.select("offset", F.length("key").alias("k"), (F.length("value") + 1).alias("v")),
    "filtered": lambda frame: frame.filter("offset > 20 and key is not null").select(F.length("value")),
    "over a projection": lambda frame: frame.select("value", "partition").distinct().select(F.length("value")),
    "by length": lambda frame: frame.groupBy(F.length("value").alias("n")).agg(F.count("*")).orderBy("n"),
    "by the bytes": lambda frame: frame.groupBy("value").agg(F.max(F.length("value")), F.min(F.length("key"))),
    "nulls": lambda frame: frame.select(F.coalesce(F.length("value"), F.lit(-1))).distinct(),
    "renamed": lambda frame: frame.withColumnRenamed("value", "v").agg(F.sum(F.length("v"))),
    "with the bytes": lambda frame: frame.select("value", F.length("value")),
    "of text": lambda frame: frame.select(F.length(F.col("value").cast("string")), F.length("topic")),
    "joined": lambda frame: frame.alias("a").join(frame.alias("b"), "offset").agg(F.sum(F.length("a.value"))),
    "union": lambda frame: frame.union(frame).agg(F.sum(F.length("value"))),
    "the columns themselves": lambda frame: frame.select("serializedKeySize", "serializedValueSize", "value"),
}
PRUNED = ("sums", "by partition", "each", "nulls")
"""Queries in which no byte of a key or value is read."""


def frame_of(spark: SparkSession, written: Written) -> DataFrame:
    options = {"path": ",".join(map(str, written.log_dirs)), "subscribe": "codecs"}
    return spark.read.format("kafkastore").options(**options).load()


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_the_bytes(spark: SparkSession, written: Written, query: str) -> None:
    frame = frame_of(spark, written)
    found = sorted(map(str, QUERIES[query](frame).collect()))
    spark.conf.set("spark.sql.optimizer.excludedRules", EXTENSION)
    try:
        expected = sorted(map(str, QUERIES[query](frame).collect()))
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")
    assert found == expected
    assert found


@pytest.mark.parametrize("query", PRUNED)
def test_no_bytes_are_read_for_a_length(spark: SparkSession, written: Written, query: str) -> None:
    frame = QUERIES[query](frame_of(spark, written))
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    relation = plan[plan.index("RelationV2") :]
    has_rule = not pyspark.__version__.startswith("3.5.")
    assert ("serializedValueSize" in relation) == has_rule
    assert ("value#" in relation) != has_rule
