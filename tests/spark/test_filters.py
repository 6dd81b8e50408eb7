"""Pushed filters: what they leave is exactly what Spark would keep, or they are given back. No Spark session runs here.

spec: R5.3
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import datasource

from kafkastore.spark.columns import spark_schema
from kafkastore.spark.datasource import FilteringReader
from kafkastore.spark.filters import EPOCH, Range, Wanted
from kafkastore.spark.options import parse

if TYPE_CHECKING or hasattr(datasource, "Filter"):
    from pyspark.sql import datasource as ds
else:
    from spark import plain_filters as ds

HALF = dt.timedelta(microseconds=500)
SECOND = EPOCH + dt.timedelta(seconds=1)


def push(*filters: ds.Filter) -> tuple[Wanted, list[Any]]:
    """(what is wanted, what Spark has to apply itself)"""
    reader = FilteringReader(parse({"path": "/data", "subscribe": "t"}), spark_schema())
    left = list(reader.pushFilters(list(filters)))
    return reader.wanted, left


def filter_text(one: object) -> str | None:
    """The name of a test, the same in every process: what is expected has sets in it."""
    return str(one) if isinstance(one, ds.Filter) else None


@pytest.mark.parametrize(
    ("pushed", "expected"),
    [
        (ds.GreaterThan(("offset",), 5), Wanted(offsets=Range(low=6))),
        (ds.GreaterThanOrEqual(("offset",), 5), Wanted(offsets=Range(low=5))),
        (ds.LessThan(("offset",), 5), Wanted(offsets=Range(high=5))),
        (ds.LessThanOrEqual(("offset",), 5), Wanted(offsets=Range(high=6))),
        (ds.EqualTo(("OFFSET",), 5), Wanted(offsets=Range(5, 6))),
        (ds.In(("offset",), (5, None)), Wanted(offsets=Range(5, 6))),
        (ds.In(("offset",), (None,)), Wanted(offsets=Range(0, 0))),
        (ds.GreaterThan(("timestamp",), SECOND), Wanted(timestamps_ms=Range(low=1001))),
        (ds.GreaterThan(("timestamp",), SECOND + HALF), Wanted(timestamps_ms=Range(low=1001))),
        (ds.GreaterThanOrEqual(("timestamp",), SECOND), Wanted(timestamps_ms=Range(low=1000))),
        (ds.GreaterThanOrEqual(("timestamp",), SECOND + HALF), Wanted(timestamps_ms=Range(low=1001))),
        (ds.LessThan(("timestamp",), SECOND), Wanted(timestamps_ms=Range(high=1000))),
        (ds.LessThan(("timestamp",), SECOND + HALF), Wanted(timestamps_ms=Range(high=1001))),
        (ds.LessThanOrEqual(("timestamp",), SECOND), Wanted(timestamps_ms=Range(high=1001))),
        (ds.LessThanOrEqual(("timestamp",), SECOND + HALF), Wanted(timestamps_ms=Range(high=1001))),
        (ds.EqualTo(("timestamp",), SECOND), Wanted(timestamps_ms=Range(1000, 1001))),
        (ds.EqualTo(("timestamp",), SECOND + HALF), Wanted(timestamps_ms=Range(1001, 1001))),
        (ds.EqualTo(("partition",), 2), Wanted(partitions=frozenset({2}))),
        (ds.In(("partition",), (2, 3)), Wanted(partitions=frozenset({2, 3}))),
        (ds.LessThan(("partition",), 2), Wanted(partition_range=Range(high=2))),
        (ds.EqualTo(("topic",), "t"), Wanted(topics=frozenset({"t"}))),
        (ds.EqualTo(("key",), b"k"), Wanted(keys=frozenset({b"k"}))),
        (ds.EqualNullSafe(("key",), None), Wanted(keys=frozenset({None}))),
        (ds.IsNull(("key",)), Wanted(keys=frozenset({None}))),
        (ds.In(("key",), (b"k", None, b"l")), Wanted(keys=frozenset({b"k", b"l"}))),
        (ds.IsNotNull(("offset",)), Wanted()),
    ],
    ids=filter_text,
)
def test_a_filter_that_can_be_taken_exactly_is_consumed(pushed: ds.Filter, expected: Wanted) -> None:
    assert push(pushed) == (expected, [])


@pytest.mark.parametrize(
    "pushed",
    [
        ds.EqualTo(("value",), b"v"),
        ds.Not(ds.EqualTo(("offset",), 5)),
        ds.In(("offset",), (1, 2)),
        ds.In(("timestamp",), (SECOND, SECOND + HALF)),
        ds.EqualTo(("headers", "key"), "trace"),
        ds.GreaterThan(("key",), b"k"),
        ds.GreaterThan(("topic",), "t"),
        ds.StringStartsWith(("topic",), "t"),
        ds.IsNotNull(("key",)),
        ds.IsNotNull(("value",)),
        ds.IsNull(("offset",)),
        ds.GreaterThan(("timestamp",), dt.datetime(2026, 1, 1)),  # noqa: DTZ001 - without a zone it is another type
        ds.EqualTo(("timestampType",), 1),
        ds.EqualTo(("flight",), 1),
    ],
    ids=str,
)
def test_any_other_filter_is_given_back(pushed: ds.Filter) -> None:
    assert push(pushed) == (Wanted(), [pushed])


def test_several_filters_must_all_hold() -> None:
    wanted, left = push(
        ds.IsNotNull(("key",)),
        ds.In(("key",), (b"a", b"b")),
        ds.EqualTo(("key",), b"b"),
        ds.GreaterThan(("offset",), 3),
        ds.LessThan(("offset",), 9),
        ds.GreaterThan(("offset",), 1),
        ds.In(("partition",), (1, 2)),
        ds.EqualTo(("partition",), 2),
        ds.GreaterThan(("partition",), 0),
    )
    assert left == []
    assert (wanted.keys, wanted.offsets, wanted.partitions) == (frozenset({b"b"}), Range(4, 9), frozenset({2}))
    assert wanted.has("t", 2)
    assert not wanted.has("t", 1)
