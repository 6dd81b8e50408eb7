"""The readers that are compared, each with the same queries; queries return answers, which must be equal.

count   the number of records
sumlen  the number of records, and the bytes of their values
ts      the same for the middle hundredth of the time range, as a filter on the column
key     the same for one key, as a filter on the column
json    parses two fields of each value and sums one by the other: `from_json`, or the source's own `valueFormat`
all     reads every column of every record and discards them (no answer)
parquet reads every column and writes Parquet files with Spark's writer
export  the same rows as Parquet files, by Spark's writer or `kafkastore export`
stream  a stream with Trigger.AvailableNow that writes every column to Parquet files, from an empty checkpoint
"""

from __future__ import annotations

import datetime as dt
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - Spark's usual name
from topic import FIRST_MS, SPAN_MS

import kafkastore
from kafkastore.spark import scan_segments, schema, segments
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import executable

Answer = tuple[int, ...] | None
QUERIES = ("count", "sumlen", "ts", "key", "json", "all", "parquet", "export", "stream")
LOW_MS = FIRST_MS + SPAN_MS // 2
HIGH_MS = LOW_MS + SPAN_MS // 100
LOW, HIGH = (dt.datetime.fromtimestamp(ms / 1000, tz=dt.UTC) for ms in (LOW_MS, HIGH_MS))
KEY = b"user-000042"
JSON_SCHEMA = "id BIGINT, user BIGINT, session STRING, amount DOUBLE, note STRING"
GROUPS = 7
DEFAULT_COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


class Reader(Protocol):
    """Answers queries by their names."""

    queries: frozenset[str]

    def __call__(self, query: str) -> Answer: ...


def _sums(frame: DataFrame) -> Answer:
    row = frame.agg(F.count("*"), F.coalesce(F.sum(F.length("value")), F.lit(0))).first()
    return None if row is None else tuple(row)


def _cents(frame: DataFrame) -> Answer:
    """Groups, records and cents of a frame with the struct `value`; cents are whole, so that their order is nothing."""
    cents = F.sum(F.round(F.col("value.amount") * 100).cast("long"))
    found = frame.groupBy((F.col("value.user") % GROUPS).alias("g")).agg(F.count("*").alias("n"), cents.alias("c"))
    rows = found.collect()
    return len(rows), sum(row.n for row in rows), sum(row.c for row in rows)


def _with_json(frame: DataFrame) -> DataFrame:
    return frame.select(F.from_json(F.col("value").cast("string"), JSON_SCHEMA).alias("value"))


def _drain(frame: DataFrame) -> Answer:
    frame.write.format("noop").mode("overwrite").save()
    return None


@contextmanager
def _lake() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-lake-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _rows_in(folder: Path) -> Answer:
    """The records of the Parquet files below the folder."""
    return (sum(pq.read_metadata(path).num_rows for path in folder.rglob("*.parquet")),)


class FrameReader:
    """A data source, read as a Spark data frame."""

    queries = frozenset(QUERIES)

    def __init__(
        self,
        frame: Callable[[], DataFrame],
        stream: Callable[[], DataFrame],
        parsed: Callable[[], DataFrame] | None = None,
    ) -> None:
        self._frame = frame
        self._stream = stream
        self._parsed = parsed

    def __call__(self, query: str) -> Answer:
        if query in ("parquet", "export", "stream"):
            with _lake() as lake:
                self._write(query, lake)
                return _rows_in(lake / "out")
        if query == "json":
            return _cents(self._parsed() if self._parsed else _with_json(self._frame()))
        frame = self._frame()
        if query == "count":
            return (frame.count(),)
        if query == "ts":
            low, high = (F.timestamp_millis(F.lit(ms)) for ms in (LOW_MS, HIGH_MS))
            frame = frame.filter((F.col("timestamp") >= low) & (F.col("timestamp") < high))
        elif query == "key":
            frame = frame.filter(F.col("key") == F.lit(KEY))
        return _drain(frame) if query == "all" else _sums(frame)

    def _write(self, query: str, lake: Path) -> None:
        output = str(lake / "out")
        if query != "stream":
            self._frame().write.parquet(output)
            return
        writer = self._stream().writeStream.format("parquet").option("checkpointLocation", str(lake / "checkpoint"))
        writer.trigger(availableNow=True).start(output).awaitTermination()


class InJvmReader(FrameReader):
    """Ours, whose topics `kafkastore export` writes as Parquet files."""

    def __init__(
        self,
        frame: Callable[[], DataFrame],
        stream: Callable[[], DataFrame],
        parsed: Callable[[], DataFrame],
        export: Sequence[str],
    ) -> None:
        super().__init__(frame, stream, parsed)
        self._export = export

    def _write(self, query: str, lake: Path) -> None:
        if query == "export":
            subprocess.run([*self._export, "--output", str(lake / "out")], check=True, stdout=subprocess.DEVNULL)
        else:
            super()._write(query, lake)


class MapInArrowReader:
    """`segments().mapInArrow(scan_segments())`, with the columns and limits that the query needs."""

    queries = frozenset(("count", "sumlen", "ts", "key", "json", "all"))

    def __init__(self, plan: Callable[[], DataFrame]) -> None:
        self._plan = plan

    def __call__(self, query: str) -> Answer:
        if query == "count":
            return (self._rows(["offset"]).count(),)
        if query == "sumlen":
            return _sums(self._rows(["value"]))
        if query == "json":
            return _cents(_with_json(self._rows(["value"])))
        if query == "ts":
            return _sums(self._rows(["value"], min_timestamp=LOW, end_timestamp=HIGH))
        if query == "key":
            return _sums(self._rows(["value"], keys=[KEY]))
        return _drain(self._rows(DEFAULT_COLUMNS))

    def _rows(self, columns: list[str], **limits: Any) -> DataFrame:
        return self._plan().mapInArrow(scan_segments(columns, **limits), schema(columns))


class ScanReader:
    """`kafkastore.scan` without Spark; subclasses add the query engine."""

    queries = frozenset(("count", "sumlen", "ts", "key", "json", "all"))

    def __init__(self, log_dirs: list[str], topic: str, bootstrap: str) -> None:
        self._where = (log_dirs, topic)
        self._bootstrap = bootstrap

    def scan(self, columns: list[str], **limits: Any) -> Any:
        return kafkastore.scan(*self._where, columns=columns, bootstrap_servers=self._bootstrap, **limits)

    def chosen(self, query: str) -> Any:
        """The scan that the query reads, with its limits as arguments of the scan, as a user would write it."""
        if query == "ts":
            return self.scan(["value"], min_timestamp=LOW, end_timestamp=HIGH)
        if query == "key":
            return self.scan(["value"], keys=[KEY])
        if query == "json":
            return self.scan(["value"], value_format="json", value_schema="user BIGINT, amount DOUBLE")
        return self.scan({"count": ["offset"], "sumlen": ["value"]}.get(query, DEFAULT_COLUMNS))


class DuckdbReader(ScanReader):
    """DuckDB over a scan."""

    def __call__(self, query: str) -> Answer:
        import duckdb

        connection = duckdb.connect()
        try:
            connection.register("records", self.chosen(query))
            if query == "count":
                found = connection.execute("SELECT count(*) FROM records")
            elif query == "json":
                cents = "sum(CAST(round(value.amount * 100) AS BIGINT))"
                found = connection.execute(
                    f"SELECT count(*), sum(n), sum(c) FROM (SELECT count(*) AS n, {cents} AS c FROM records"
                    f" GROUP BY value.user % {GROUPS})"
                )
            elif query == "all":
                sums = "sum(octet_length(key)), sum(octet_length(value)), max(topic), max(partition), max(timestamp)"
                connection.execute(f'SELECT {sums}, max("offset"), max(timestampType) FROM records').fetchone()
                return None
            else:
                found = connection.execute("SELECT count(*), coalesce(sum(octet_length(value)), 0) FROM records")
            row = found.fetchone()
            return None if row is None else tuple(map(int, row))
        finally:
            connection.close()


class PolarsReader(ScanReader):
    """Polars over a scan."""

    def __call__(self, query: str) -> Answer:
        import polars as pl

        frame = pl.DataFrame(self.chosen(query))
        if query == "count":
            return (frame.height,)
        if query == "all":
            return None
        if query == "json":
            values = frame["value"].struct
            cents = (values.field("amount") * 100).round().cast(pl.Int64)
            return (values.field("user") % GROUPS).n_unique(), frame.height, int(cents.sum())
        return frame.height, int(frame["value"].bin.size().sum() or 0)


def readers(spark: SparkSession, broker: BrokerProcess, topic: str) -> dict[str, Reader]:
    """The readers by their names in the table; the others are compared with the first."""
    at, path = broker.bootstrap, ",".join(map(str, broker.log_dirs))
    common = {"kafka.bootstrap.servers": at, "subscribe": topic}
    files = {**common, "path": path}
    typed = {**files, "valueFormat": "json", "valueSchema": JSON_SCHEMA}

    def batch(source: str, options: dict[str, str]) -> Callable[[], DataFrame]:
        return spark.read.format(source).options(**options).load

    def stream(source: str, options: dict[str, str]) -> Callable[[], DataFrame]:
        return spark.readStream.format(source).options(**options, startingOffsets="earliest").load

    log_dirs = list(map(str, broker.log_dirs))
    # Spark's writer takes snappy unless it is told otherwise
    export = [executable(), "export", *log_dirs, "--topic", topic, "--bootstrap-server", at, "--compression", "snappy"]
    return {
        "connector": FrameReader(batch("kafka", common), stream("kafka", common)),
        "kafkastore": InJvmReader(
            batch("kafkastore", files), stream("kafkastore", files), batch("kafkastore", typed), export
        ),
        "network": FrameReader(batch("kafkastore", common), stream("kafkastore", common)),
        "mapInArrow": MapInArrowReader(lambda: segments(spark, path, topic, **{"kafka.bootstrap.servers": at})),
        "DuckDB": DuckdbReader(log_dirs, topic, at),
        "Polars": PolarsReader(log_dirs, topic, at),
    }
