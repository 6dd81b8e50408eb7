"""Pushed filters as the planner takes them: what it takes is narrowed, what it does not know goes back to Spark. No
Spark session runs here; what each filter leaves to read, rust/planner/filters.rs says.

spec: R5.3
"""

from __future__ import annotations

import base64
import datetime as dt
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import datasource

from kafkastore.spark.columns import COLUMNS
from kafkastore.spark.filters import EPOCH, taken

if TYPE_CHECKING or hasattr(datasource, "Filter"):
    from pyspark.sql import datasource as ds
else:
    from spark import plain_filters as ds

HALF = dt.timedelta(microseconds=500)
SECOND = EPOCH + dt.timedelta(seconds=1)


def key(value: bytes) -> str:
    return base64.b64encode(value).decode()


@pytest.mark.parametrize(
    ("pushed", "column", "op", "values"),
    [
        (ds.GreaterThan(("offset",), 5), "offset", "GreaterThan", [5]),
        (ds.EqualTo(("OFFSET",), 5), "OFFSET", "EqualTo", [5]),
        (ds.In(("partition",), (2, 3)), "partition", "In", [2, 3]),
        (ds.GreaterThan(("timestamp",), SECOND + HALF), "timestamp", "GreaterThan", [1_000_500]),
        (ds.EqualTo(("topic",), "t"), "topic", "EqualTo", ["t"]),
        (ds.In(("key",), (b"k", None)), "key", "In", [key(b"k"), None]),
        (ds.EqualNullSafe(("key",), None), "key", "EqualNullSafe", [None]),
        (ds.IsNull(("key",)), "key", "IsNull", []),
        (ds.IsNotNull(("offset",)), "offset", "IsNotNull", []),
    ],
    ids=str,
)
def test_a_filter_that_can_be_taken_exactly_is_consumed(
    pushed: ds.Filter, column: str, op: str, values: list[Any]
) -> None:
    assert taken([pushed], list(COLUMNS)) == ([{"column": column, "op": op, "values": values}], [])


@pytest.mark.parametrize(
    "pushed",
    [
        ds.EqualTo(("value",), b"v"),
        ds.Not(ds.EqualTo(("offset",), 5)),
        ds.In(("offset",), (1, 2)),
        ds.EqualTo(("headers", "key"), "trace"),
        ds.GreaterThan(("key",), b"k"),
        ds.EqualTo(("key",), True),
        ds.StringStartsWith(("topic",), "t"),
        ds.IsNotNull(("key",)),
        ds.GreaterThan(("timestamp",), dt.datetime(2026, 1, 1)),  # noqa: DTZ001 - without a zone it is another type
        ds.EqualTo(("timestampType",), 1),
        ds.EqualTo(("flight",), 1),
    ],
    ids=str,
)
def test_any_other_filter_is_given_back(pushed: ds.Filter) -> None:
    kept = ds.LessThan(("offset",), 9)
    found, left = taken([pushed, kept], list(COLUMNS))
    assert [one["column"] for one in found] == ["offset"]
    assert left == [pushed]


def test_a_column_that_is_not_read_leaves_its_filter_to_spark() -> None:
    pushed = ds.EqualTo(("key",), b"k")
    assert taken([pushed], ["offset"]) == ([], [pushed])
