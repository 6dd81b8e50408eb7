"""Rows of a scan and records of a consumer in one form, to compare them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafkastore.scanning.bounds import COLUMNS
from peer.java_tools import JavaRecord

TIMESTAMP_TYPES = {"CreateTime": 0, "LogAppendTime": 1}


@dataclass(frozen=True)
class Row:
    """Every column of a record; the timestamp in microseconds, headers None where there are none (as in Spark)."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes | None], ...] | None


def rows_of(scan: Any) -> list[Row]:
    """The rows of a scan with all columns."""
    table = pa.table(scan)
    assert table.column_names == list(COLUMNS)
    columns = [_plain(table.column(name)) for name in COLUMNS]
    return [Row(*values) for values in zip(*columns, strict=True)]


def _plain(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        assert column.type == pa.timestamp("us", "UTC")
        return list(column.cast(pa.int64()).to_pylist())
    values = column.to_pylist()
    if pa.types.is_list(column.type):
        return [None if one is None else tuple((item["key"], item["value"]) for item in one) for one in values]
    return list(values)


def rows_read(topic: str, records: Iterable[JavaRecord]) -> list[Row]:
    """What Kafka's Java consumer read, as the rows that a scan must give."""
    return [
        Row(
            record.key,
            record.value,
            topic,
            record.partition or 0,
            record.offset,
            (record.timestamp or 0) * 1000,
            TIMESTAMP_TYPES[record.timestamp_type],
            record.headers or None,
        )
        for record in records
    ]


def assert_rows(found: list[Row], expected: list[Row], what: object) -> None:
    """Equal, or a message with the first row that differs."""
    for number, (one, other) in enumerate(zip(found, expected, strict=False)):
        assert one == other, f"{what}: row {number}"
    assert len(found) == len(expected), f"{what}: {len(found)} rows of {len(expected)}"
