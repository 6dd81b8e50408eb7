"""``kafkastore consume --filter``: a condition in DuckDB's SQL over the columns of records.

The columns are those of ``kafkastore sql``: topic, partition, offset, timestamp, key, value, headers; key and value are
texts, so that ``value->>'name'`` looks into JSON. Where the condition fails for a record, for a value that is no JSON,
the record does not match.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.cli.record_text import ReadRecord


class RecordFilter:
    """See the module. Its creator closes it."""

    def __init__(self, condition: str) -> None:
        """Raises ConfigError for a condition that DuckDB does not understand."""
        try:
            import duckdb
            import pyarrow as pa

            from kafkastore.cli.sql_query import CONFIG, SETTINGS, with_offset_quoted
        except ImportError as error:
            raise ConfigError(f"--filter: {error.name} is not installed; pip install 'kafkastore[sql]'") from None
        self._arrow, self._error = pa, duckdb.Error
        self._database = duckdb.connect(config=CONFIG)
        self._database.execute(SETTINGS.replace("set errors_as_json = true", "set errors_as_json = false"))
        self._schema = pa.schema(
            [
                ("row", pa.int32()),
                ("topic", pa.string()),
                ("partition", pa.int32()),
                ("offset", pa.int64()),
                ("timestamp", pa.timestamp("ms", "UTC")),
                ("key", pa.string()),
                ("value", pa.string()),
                ("headers", pa.map_(pa.string(), pa.string())),
            ]
        )
        quoted, _ = with_offset_quoted(condition)
        self._query = f"select row from records where coalesce(try(({quoted})), false)"  # noqa: S608 - the user's own
        self.matching([])

    def close(self) -> None:
        self._database.close()

    def matching(self, records: Sequence[ReadRecord]) -> list[ReadRecord]:
        """Those of the records that match. Raises ConfigError."""
        columns = list(zip(*map(_row, range(len(records)), records), strict=True)) or [()] * len(self._schema)
        arrays = [self._arrow.array(column, one.type) for column, one in zip(columns, self._schema, strict=True)]
        self._database.register("records", self._arrow.table(arrays, schema=self._schema))
        try:
            rows = self._database.execute(self._query).fetchall()
        except self._error as error:
            text = "; ".join(line.strip() for line in str(error).splitlines()[:1] if line.strip())
            raise ConfigError(f"--filter: {text}") from None
        return [records[row] for (row,) in rows]


def _row(number: int, one: ReadRecord) -> tuple[Any, ...]:
    from kafkastore.cli.record_text import value_bytes

    record = one.record
    headers = list({name: _text(value) for name, value in record.headers}.items())  # DuckDB's maps have a name once
    value = None if one.value is None else _text(value_bytes(one))
    return number, one.topic, one.partition, record.offset, record.timestamp_ms, _text(record.key), value, headers


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")
