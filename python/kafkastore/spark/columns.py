"""The columns as Spark's types: those of Spark's Kafka source, any subset of them in any order.

The types decide the Arrow types of what a task yields; ``kafkastore._core`` gives exactly these
(``rust/scan/column.rs``).
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

HEADERS = "headers"
COLUMNS: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    HEADERS: ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())])),
}
"""The columns in the order of Spark's Kafka source; ``headers`` is last and only read when asked for."""


def spark_schema(columns: Sequence[str] | None = None, *, include_headers: bool = False) -> StructType:
    """The schema of these columns in this order, by default that of Spark's Kafka source. Raises ValueError for an
    unknown or repeated column."""
    names = list(columns) if columns is not None else [name for name in COLUMNS if include_headers or name != HEADERS]
    for name in names:
        if name not in COLUMNS or names.count(name) > 1:
            wrong = "is named twice" if name in COLUMNS else "is no column"
            raise ValueError(f"columns: {name!r} {wrong}; there are {', '.join(COLUMNS)}, each once")
    return StructType([StructField(name, COLUMNS[name]) for name in names])


def arrow_schema(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark's worker makes of ``schema`` and expects of batches; timestamps are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if "timezone" in inspect.signature(to_arrow_schema).parameters:  # PySpark 4.2; earlier versions always use UTC
        return to_arrow_schema(schema, timezone="UTC")
    return to_arrow_schema(schema)


def columns_of(schema: StructType) -> list[str]:
    """Our columns for the fields of a user's schema. Raises ValueError for a field that fits no column."""
    by_name = {name.lower(): name for name in COLUMNS}
    found = []
    for wanted in schema.fields:
        column = by_name.get(wanted.name.lower())
        if column is None:
            raise ValueError(f"schema: there is no column {wanted.name}; there are {', '.join(COLUMNS)}")
        if _bare(wanted.dataType) != _bare(COLUMNS[column]):
            kind, own = wanted.dataType.simpleString(), COLUMNS[column].simpleString()
            raise ValueError(f"schema: column {wanted.name} is {own}, not {kind}; read {own} and convert the column")
        found.append(column)
    return found


def _bare(kind: DataType) -> str:
    """The type without its nullability, which may differ between a user's DDL and our columns."""
    return kind.simpleString().lower()
