"""``kafkastore spark export``: its options, and what it prints."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from kafkastore.cli.option_types import SIZE
from kafkastore.cli.spark_arguments import TIME, Bound, spark_options
from kafkastore.cli.spark_session import run_verb, task_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments
    from kafkastore.spark.pipeline.export import Export, ExportReport

_CODECS = ("zstd", "snappy", "gzip", "lz4", "none")
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@click.command("export")
@spark_options
@click.option(
    "--output",
    metavar="FOLDER",
    help="On any file system of Spark's; for Iceberg the name of a table. Needed.",
)
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    help="What was exported; on the same file system as the output.  [default: FOLDER.checkpoint]",
)
@click.option("--format", metavar="parquet|delta|iceberg", default="parquet", show_default=True)
@click.option(
    "--partition-by",
    metavar="day|hour|none",
    default="day",
    show_default=True,
    help="Of the record's timestamp in UTC.",
)
@click.option(
    "--target-file-size",
    type=SIZE,
    default="128M",
    show_default=True,
    help="Bytes, or with k, M, G (1024).",
)
@click.option(
    "--batch-size",
    type=SIZE,
    default="16G",
    show_default=True,
    help="Segment bytes that are exported at a time: what a kill undoes.",
)
@click.option("--compression", type=click.Choice(_CODECS), default="zstd", show_default=True, help="Of Parquet.")
@click.option(
    "--from",
    "start",
    metavar="earliest|latest|TIME|JSON",
    type=Bound("starting"),
    help="Where the first call begins; JSON as startingOffsets.  [default: earliest]",
)
@click.option("--to", "end", type=TIME, help="Only records before it.")
def command(arguments: SparkArguments) -> int:
    """Write topics as Parquet (or a Delta or Iceberg table), partitioned by topic and day.

    Each call exports what has come since the last one. Whatever is killed, the next call goes on: no record is lost,
    none is there twice.
    """
    return run_verb("export", arguments, understand, run)


def understand(arguments: SparkArguments) -> Export:
    """Raises UsageError."""
    from kafkastore.spark.pipeline.export import FORMATS, PERIODS, Export

    own = arguments.own
    arguments.need_topic()
    if not own["output"]:
        raise click.UsageError("--output is missing; name a folder for the files")
    for option, value, known in (("format", own["format"], FORMATS), ("partition-by", own["partition_by"], PERIODS)):
        if value not in known:
            raise click.UsageError(f"--{option} {value} is none; give {', '.join(known)}")
    if own["format"] == "iceberg" and not own["checkpoint"]:
        raise click.UsageError("--format iceberg needs --checkpoint FOLDER, since --output is the name of a table")
    if own["format"] == "delta":
        arguments.conf.update({name: value for name, value in _DELTA.items() if name not in arguments.conf})
    output = own["output"].rstrip("/") or "/"
    return Export(
        options={**(own["start"] or {}), **arguments.source_options()},
        output=output,
        checkpoint=own["checkpoint"] or f"{output}.checkpoint",
        format=own["format"],
        partition_by=own["partition_by"],
        compression="uncompressed" if own["compression"] == "none" else own["compression"],
        end_timestamp_ms=own["end"],
        file_bytes=own["target_file_size"],
        batch_bytes=own["batch_size"],
    )


def run(spark: SparkSession, arguments: SparkArguments, export: Export) -> int:
    from kafkastore.spark.pipeline.export import export_topics

    with task_progress(spark, "export", is_shown=arguments.shows_progress):
        report = export_topics(spark, export)
    sys.stdout.write(_as_json(export, report) if arguments.is_json else _as_text(export, report))
    return 0


def _as_json(export: Export, report: ExportReport) -> str:
    figures = {"records": report.records, "files": report.files, "bytes": report.size_bytes, "batches": report.batches}
    return json.dumps({"output": export.output, **figures, "endOffsets": report.up_to}) + "\n"


def _as_text(export: Export, report: ExportReport) -> str:
    from kafkastore.scanning.topics import readable

    if not report.records:
        return f"nothing new for {export.output}\n"
    files = f" in {report.files} files, {readable(report.size_bytes)}," if report.files else ""
    return f"{report.records} records{files} to {export.output}\n"
