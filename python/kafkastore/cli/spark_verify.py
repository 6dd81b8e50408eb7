"""``kafkastore spark verify``: its options; what it prints has the form of ``kafkastore check``."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from kafkastore.cli.check import json_of, line_of, summary_of
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments

CONF: dict[str, str] = {}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--deep-iteration", dest="deep", action="store_true")


def understand(arguments: SparkArguments) -> None:
    """Raises UsageError."""
    if arguments.pattern is not None or len(arguments.topics) > 1:
        raise UsageError("verify: give one --topic NAME, or none to check all of them")
    if arguments.options:
        raise UsageError("verify: --option is for commands that read records; leave it out")


def run(spark: SparkSession, arguments: SparkArguments, _: None) -> int:
    from kafkastore.spark.pipeline.progress import bar
    from kafkastore.spark.pipeline.session import PipelineError
    from kafkastore.spark.pipeline.verify import verify_cluster

    began = time.monotonic()
    try:
        with bar(spark, "verify", is_shown=arguments.shows_progress):
            topic = arguments.topics[0] if arguments.topics else None
            report = verify_cluster(spark, arguments.log_dirs, topic=topic, deep=arguments.own["deep"])
    except PipelineError as error:
        raise UsageError(f"verify: {error}") from None
    for finding in report.findings:
        sys.stdout.write(json_of(finding) if arguments.is_json else line_of(finding))
    more = {"replicas": report.replicas}
    sys.stdout.write(summary_of(report, time.monotonic() - began, arguments.is_json, more))
    return 1 if report.faults else 0
