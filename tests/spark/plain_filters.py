"""Filters named and shaped as those that PySpark 4.1 and newer push, for PySpark 4.0, which has none and pushes
nothing.

There they show that what a filter leaves to read does not depend on PySpark; that 4.0 refuses ``pushFilters``
is in :mod:`spark.test_pushed_filters`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Filter:
    """Of all, as in PySpark."""


@dataclass(frozen=True)
class OfColumn(Filter):
    attribute: tuple[str, ...]


@dataclass(frozen=True)
class Compared(OfColumn):
    value: Any


@dataclass(frozen=True)
class Not(Filter):
    child: Filter


class IsNull(OfColumn): ...


class IsNotNull(OfColumn): ...


class EqualTo(Compared): ...


class EqualNullSafe(Compared): ...


class GreaterThan(Compared): ...


class GreaterThanOrEqual(Compared): ...


class LessThan(Compared): ...


class LessThanOrEqual(Compared): ...


class In(Compared): ...


class StringStartsWith(Compared): ...
