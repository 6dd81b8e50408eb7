"""Texts as a data frame: one Spark task for each, in this order, so that the largest should be first."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession


def one_task_each(spark: SparkSession, texts: Sequence[str]) -> DataFrame:
    """The column ``task``; each row is in a partition of its own."""
    rows = spark.sparkContext.parallelize([(text,) for text in texts], max(1, len(texts)))
    return spark.createDataFrame(rows, "task string")
