"""Topics as a lake: Parquet files, or a Delta or Iceberg table, partitioned by topic and time.

Each call exports what has come since the last one: a stream with ``Trigger.AvailableNow``, which ends when it has read
what was there at its start. Each record is exported once, whatever is killed: for Parquet by ``publishing.py``, for
tables by their own transactions.
"""

from __future__ import annotations

import math
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from kafkastore.spark.jvm import SOURCE
from kafkastore.spark.pipeline.files import Folder
from kafkastore.spark.pipeline.publishing import Publication, PublishedFile
from kafkastore.spark.pipeline.session import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kafkastore.spark.pipeline.files import File

FORMATS: Final = ("parquet", "delta", "iceberg")
PERIODS: Final = {"day": "date", "hour": "hour", "none": ""}
"""How a topic is divided, and the column that the folders are named after."""
DEFAULT_FILE_BYTES: Final = 128 << 20
DEFAULT_BATCH_BYTES: Final = 16 << 30
"""Of segment files: what a kill can undo, about a minute of a machine's work."""
WRITER_CONF: Final = {
    "spark.sql.maxConcurrentOutputFileWriters": "32",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
"""A task writes so many files at a time; beyond, Spark sorts the task's records by folder first. Timestamps are those
that every reader knows as moments in UTC, not Spark's old INT96."""
MERGES_AT_A_TIME: Final = 4
_TABLE_CLASSES: Final = {
    "delta": ("io.delta.sql.DeltaSparkSessionExtension", "io.delta:delta-spark_{}_2.13"),
    "iceberg": ("org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg:iceberg-spark-runtime-{}_2.13"),
}


@dataclass(frozen=True)
class Export:
    """What to export. ``options`` are those of the source (``path``, ``subscribe``, ``startingOffsets`` …). ``output``
    is a folder, for Iceberg the name of a table; ``checkpoint`` is a folder on the same file system. Records with
    ``end_timestamp_ms`` or a later time are left out. ``batch_bytes`` are bytes of segment files, ``file_bytes`` of
    Parquet files."""

    options: Mapping[str, str] = field(repr=False)
    output: str
    checkpoint: str
    format: str = "parquet"
    partition_by: str = "day"
    compression: str = "zstd"
    end_timestamp_ms: int | None = None
    file_bytes: int = DEFAULT_FILE_BYTES
    batch_bytes: int = DEFAULT_BATCH_BYTES


@dataclass
class ExportReport:
    """What one call has exported. ``files`` and ``size_bytes`` are 0 for tables, which keep their own accounts."""

    records: int = 0
    files: int = 0
    size_bytes: int = 0
    batches: int = 0
    up_to: dict[str, dict[str, int]] = field(default_factory=dict)
    """Topic -> partition -> the offset with which the next call begins; empty when nothing was new."""


def export_topics(spark: SparkSession, export: Export) -> ExportReport:
    """Exports what is new; returns when everything is exported that was there at the call.

    Raises PipelineError for a mistake of one sentence, and Spark's errors.
    """
    if export.format == "parquet":
        publication = Publication(Folder(spark, export.output), Folder(spark, export.checkpoint))
        try:
            writer = _ParquetWriter(export, publication)
            if unfinished := publication.open(_fixed(export, publication.output.uri)):
                writer.count(unfinished)
            _run(spark, export, writer)
            return writer.report
        finally:
            publication.close()
    return _export_to_table(spark, export)


def _fixed(export: Export, output: str) -> dict[str, str]:
    end = "" if export.end_timestamp_ms is None else str(export.end_timestamp_ms)
    return {"--output": output, "--partition-by": export.partition_by, "--to": end}


def _frame(spark: SparkSession, export: Export) -> DataFrame:
    """The stream of records with the columns that partition them."""
    from pyspark.sql import functions

    given = {
        "startingOffsets": "earliest",
        "includeHeaders": "true",
        "splitBytes": str(export.file_bytes),
        "maxBytesPerTrigger": str(export.batch_bytes),
        **export.options,
    }
    frame = spark.readStream.format(SOURCE).options(**given).load()
    if export.end_timestamp_ms is not None:
        frame = frame.filter(
            functions.col("timestamp") < functions.timestamp_millis(functions.lit(export.end_timestamp_ms))
        )
    column = PERIODS[export.partition_by]
    if column == "date":
        return frame.withColumn(column, functions.to_date("timestamp"))
    return frame.withColumn(column, functions.date_format("timestamp", "yyyy-MM-dd-HH")) if column else frame


def _folders(export: Export) -> list[str]:
    return [name for name in ("topic", PERIODS[export.partition_by]) if name]


def _run(spark: SparkSession, export: Export, writer: _ParquetWriter) -> None:
    stream: Any = _frame(spark, export).writeStream.foreachBatch(writer.write)
    query = stream.option("checkpointLocation", writer.publication.checkpoint.uri_of("query")).trigger(
        availableNow=True
    )
    running = query.start()
    try:
        running.awaitTermination()
    except Exception:
        if writer.failure is not None:
            raise writer.failure from None
        raise
    finally:
        running.stop()
    if writer.report.batches:
        writer.report.up_to = _up_to(running.lastProgress)


def _up_to(progress: Any) -> dict[str, dict[str, int]]:
    import json

    offsets = progress["sources"][0]["endOffset"] if progress else None
    if isinstance(offsets, str):  # PySpark 4.0 writes a dict as Python does; no topic has a quote in its name
        offsets = json.loads(offsets.replace("'", '"'))
    found: dict[str, dict[str, int]] = offsets or {}
    return found


class _ParquetWriter:
    """Writes batches of the stream through a publication and counts them."""

    def __init__(self, export: Export, publication: Publication) -> None:
        self._export = export
        self.publication = publication
        self.report = ExportReport()
        self.failure: Exception | None = None

    def write(self, batch: DataFrame, number: int) -> None:
        """Called by Spark, again for a batch that it has not noted as done. Keeps an error, which Spark only passes on
        as the text of a traceback."""
        try:
            if not self.publication.has(number):
                self.count(self._write(batch, number))
        except Exception as error:
            self.failure = error
            raise

    def _write(self, batch: DataFrame, number: int) -> list[PublishedFile]:
        staging = self.publication.staging(number)
        for name, value in WRITER_CONF.items():
            batch.sparkSession.conf.set(name, value)
        self._save(batch.write.partitionBy(*_folders(self._export)), staging)
        self._merge(batch, staging)
        return self.publication.commit(number, staging)

    def _save(self, writer: Any, staging: str) -> None:
        checkpoint = self.publication.checkpoint
        writer.option("compression", self._export.compression).parquet(checkpoint.uri_of(staging))

    def _merge(self, batch: DataFrame, staging: str) -> None:
        """Writes the files of a folder anew where there are twice as many as their bytes need."""
        checkpoint = self.publication.checkpoint
        by_folder: dict[str, list[File]] = defaultdict(list)
        for file in checkpoint.files(staging):
            if file.name.endswith(".parquet"):
                by_folder[file.name.rpartition("/")[0]].append(file)
        schema = batch.drop(*_folders(self._export)).schema

        def merge(folder: str) -> None:
            files, merged = by_folder[folder], f"{staging}-merged/{folder}"
            names = [checkpoint.uri_of(f"{staging}/{file.name}") for file in files]
            frame = batch.sparkSession.read.schema(schema).parquet(*names)
            self._save(frame.coalesce(_needed(files, self._export.file_bytes)).write, merged)
            for file in files:
                checkpoint.remove(f"{staging}/{file.name}")
            for file in checkpoint.files(merged):
                if file.name.endswith(".parquet"):
                    checkpoint.move(f"{merged}/{file.name}", checkpoint, f"{staging}/{folder}/{file.name}")

        wanted = [
            name for name, files in by_folder.items() if len(files) >= 2 * _needed(files, self._export.file_bytes)
        ]
        with ThreadPoolExecutor(MERGES_AT_A_TIME, thread_name_prefix="merge") as pool:
            list(pool.map(merge, wanted))
        checkpoint.remove(f"{staging}-merged")

    def count(self, files: Sequence[PublishedFile]) -> None:
        self.report.batches += 1
        self.report.files += len(files)
        self.report.records += sum(file.records for file in files)
        self.report.size_bytes += sum(file.size_bytes for file in files)


def _needed(files: Sequence[File], file_bytes: int) -> int:
    """How many files of the wanted size hold the bytes of these."""
    return max(1, math.ceil(sum(file.size_bytes for file in files) / file_bytes))


def _export_to_table(spark: SparkSession, export: Export) -> ExportReport:
    """Delta and Iceberg: their streaming sinks note the batch in the table's own transaction."""
    _require(spark, export.format)
    frame = _frame(spark, export)
    writer: Any = frame.writeStream.format(export.format).outputMode("append").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{export.checkpoint}/query")
    if export.format == "delta":
        query = writer.partitionBy(*_folders(export)).start(export.output)
    else:
        _create_iceberg_table(spark, frame, export)
        query = writer.option("fanout-enabled", "true").toTable(export.output)
    try:
        query.awaitTermination()
    finally:
        query.stop()
    done = [progress for progress in query.recentProgress if progress["numInputRows"]]
    report = ExportReport(records=sum(progress["numInputRows"] for progress in done), batches=len(done))
    report.up_to = _up_to(query.lastProgress) if done else {}
    return report


def _create_iceberg_table(spark: SparkSession, frame: DataFrame, export: Export) -> None:
    """Makes the table when there is none: a streaming sink only appends."""
    columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema.fields)
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS {export.output} ({columns}) USING iceberg PARTITIONED BY"
        f" ({', '.join(_folders(export))}) TBLPROPERTIES ('write.target-file-size-bytes'='{export.file_bytes}')"
    )


def _require(spark: SparkSession, name: str) -> None:
    wanted, package = _TABLE_CLASSES[name]
    jvm: Any = spark._jvm  # noqa: SLF001 - PySpark has no other way to see what is on the class path
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(wanted)
    except Exception:  # noqa: BLE001 - py4j has one class for all
        made_for = package.format(".".join(spark.version.split(".")[:2]))
        raise PipelineError(
            f"--format {name}: Spark has no {wanted} on its class path; add --conf"
            f" spark.jars.packages={made_for}:<version>, or export to Parquet"
        ) from None
