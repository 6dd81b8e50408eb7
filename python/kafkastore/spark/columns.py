"""The columns as Spark's types: those of Spark's Kafka source, any subset of them in any order.

``kafkastore._core`` gives exactly the Arrow types that Spark expects for them (``rust/scan/column.rs``).
"""

from __future__ import annotations

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
