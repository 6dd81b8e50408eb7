"""Spark's pushed filters as the planner takes them; ``rust/planner/filters.rs`` says which of them a scan applies.

This module imports nothing of Spark: it knows filters by the names of their classes and fields, which PySpark 4.1 to
4.3 share.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from kafkastore import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
OTHER: dict[str, Any] = {"column": "", "op": "other", "values": []}
"""A filter that the planner does not know, and leaves to Spark."""


def taken(pushed: Sequence[Any], columns: Sequence[str]) -> tuple[list[dict[str, Any]], list[Any]]:
    """(the filters that a scan of these columns applies exactly, as JSON; the filters that Spark must apply)"""
    known = [as_json(one) for one in pushed]
    answer = json.loads(_core.push_filters(json.dumps({"filters": known, "columns": list(columns)})))
    indexes = set(answer["taken"])
    left = [one for index, one in enumerate(pushed) if index not in indexes]
    return [known[index] for index in sorted(indexes)], left


def as_json(pushed: Any) -> dict[str, Any]:
    """``{"column", "op", "values"}``; :data:`OTHER` for a filter on no column of ours or with an unusual value."""
    path: tuple[str, ...] = getattr(pushed, "attribute", ())
    name = type(pushed).__name__
    if len(path) != 1:
        return OTHER
    if name in ("IsNull", "IsNotNull"):
        return {"column": path[0], "op": name, "values": []}
    value: Any = getattr(pushed, "value", None)
    values: list[Any] = list(value) if name == "In" else [value]
    try:
        return {"column": path[0], "op": name, "values": [_value(one) for one in values]}
    except TypeError:
        return OTHER


def _value(value: Any) -> str | int | None:
    match value:
        case None | str():
            return value
        case int() if not isinstance(value, bool):
            return value
        case bytes() | bytearray():
            return base64.b64encode(value).decode()
        case dt.datetime() if value.tzinfo is not None:
            return (value - EPOCH) // MICROSECOND
        case _:
            raise TypeError(type(value).__name__)
