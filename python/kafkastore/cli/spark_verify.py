"""``kafkastore spark verify``: its options; what it prints has the form of ``kafkastore check``."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from kafkastore.cli.check import json_of, line_of, summary_of
from kafkastore.cli.spark_arguments import spark_options
from kafkastore.cli.spark_session import run_verb, task_progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments


@click.command("verify")
@spark_options
@click.option("--deep-iteration", "is_deep", is_flag=True, help="Also inflate and decode every record.")
def command(arguments: SparkArguments) -> int:
    """Check every file of log directories as kafkastore check does, with tasks.

    Also that the replicas of a partition, in the directories of different brokers, hold the same batches.
    """
    return run_verb("verify", arguments, understand, run)


def understand(arguments: SparkArguments) -> None:
    """Raises UsageError."""
    if arguments.pattern is not None or len(arguments.topics) > 1:
        raise click.UsageError("give one --topic NAME, or none to check all of them")
    if arguments.options:
        raise click.UsageError("--option is for commands that read records; leave it out")


def run(spark: SparkSession, arguments: SparkArguments, _: None) -> int:
    from kafkastore.spark.pipeline.session import PipelineError
    from kafkastore.spark.pipeline.verify import verify_cluster

    began = time.monotonic()
    try:
        with task_progress(spark, "verify", is_shown=arguments.shows_progress):
            topic = arguments.topics[0] if arguments.topics else None
            report = verify_cluster(spark, arguments.log_dirs, topic=topic, deep=arguments.own["is_deep"])
    except PipelineError as error:
        raise click.UsageError(str(error)) from None
    for finding in report.findings:
        sys.stdout.write(json_of(finding) if arguments.is_json else line_of(finding))
    more = {"replicas": report.replicas}
    sys.stdout.write(summary_of(report, time.monotonic() - began, arguments.is_json, more))
    return 1 if report.faults else 0
