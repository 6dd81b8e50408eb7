"""``kafkastore spark export``: its options, and what it prints."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from kafkastore.cli.spark_arguments import SparkArguments, bound_of, need_topic, size_of, time_of
from kafkastore.cli.usage import UsageError
from kafkastore.scanning.topics import readable

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from kafkastore.spark.pipeline.export import Export, ExportReport

CONF: dict[str, str] = {}
_CODECS = ("zstd", "snappy", "gzip", "lz4", "none")
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output")
    parser.add_argument("--checkpoint")
    parser.add_argument("--format", default="parquet")
    parser.add_argument("--partition-by", default="day")
    parser.add_argument("--target-file-size", default="128M")
    parser.add_argument("--batch-size", default="16G")
    parser.add_argument("--compression", choices=_CODECS, default="zstd")
    parser.add_argument("--from", dest="start")
    parser.add_argument("--to", dest="end")


def understand(arguments: SparkArguments) -> Export:
    """Raises UsageError."""
    from kafkastore.spark.pipeline.export import FORMATS, PERIODS, Export

    own = arguments.own
    need_topic("export", arguments)
    if not own["output"]:
        raise UsageError("export: --output is missing; name a folder for the files")
    for option, value, known in (("format", own["format"], FORMATS), ("partition-by", own["partition_by"], PERIODS)):
        if value not in known:
            raise UsageError(f"export: --{option} {value} is none; give {', '.join(known)}")
    if own["format"] == "iceberg" and not own["checkpoint"]:
        raise UsageError("export: --format iceberg needs --checkpoint FOLDER, since --output is the name of a table")
    if own["format"] == "delta":
        arguments.conf.update({name: value for name, value in _DELTA.items() if name not in arguments.conf})
    start = bound_of("--from", "starting", own["start"]) if own["start"] else {}
    output = own["output"].rstrip("/") or "/"
    return Export(
        options={**start, **arguments.source_options()},
        output=output,
        checkpoint=own["checkpoint"] or f"{output}.checkpoint",
        format=own["format"],
        partition_by=own["partition_by"],
        compression="uncompressed" if own["compression"] == "none" else own["compression"],
        end_timestamp_ms=time_of("--to", own["end"]) if own["end"] else None,
        file_bytes=size_of("--target-file-size", own["target_file_size"]),
        batch_bytes=size_of("--batch-size", own["batch_size"]),
    )


def run(spark: SparkSession, arguments: SparkArguments, export: Export) -> int:
    from kafkastore.spark.pipeline.export import export_topics
    from kafkastore.spark.pipeline.progress import bar

    with bar(spark, "export", is_shown=arguments.shows_progress):
        report = export_topics(spark, export)
    sys.stdout.write(_as_json(export, report) if arguments.is_json else _as_text(export, report))
    return 0


def _as_json(export: Export, report: ExportReport) -> str:
    figures = {"records": report.records, "files": report.files, "bytes": report.size_bytes, "batches": report.batches}
    return json.dumps({"output": export.output, **figures, "endOffsets": report.up_to}) + "\n"


def _as_text(export: Export, report: ExportReport) -> str:
    if not report.records:
        return f"nothing new for {export.output}\n"
    files = f" in {report.files} files, {readable(report.size_bytes)}," if report.files else ""
    return f"{report.records} records{files} to {export.output}\n"
