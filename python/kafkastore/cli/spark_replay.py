"""``kafkastore spark replay``: its options, and what it prints."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from kafkastore.cli.spark_arguments import Bound, kafka_of, spark_options
from kafkastore.cli.spark_session import run_verb, task_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kafkastore.cli.spark_arguments import SparkArguments
    from kafkastore.spark.pipeline.replay import OffsetRange, Replay


@click.command("replay")
@spark_options
@click.option("--to-topic", metavar="NAME", help="The topic written to; it exists and is another one. Needed.")
@click.option(
    "--to-bootstrap-server",
    "to_bootstrap",
    metavar="HOST:PORT",
    help="A broker of the cluster written to.  [default: --bootstrap-server]",
)
@click.option(
    "--to-command-config", metavar="FILE", type=click.Path(), help="For that broker.  [default: --command-config]"
)
@click.option(
    "--from",
    "start",
    metavar="earliest|latest|TIME|JSON",
    type=Bound("starting"),
    help="JSON as startingOffsets.  [default: everything]",
)
@click.option(
    "--to",
    "end",
    metavar="earliest|latest|TIME|JSON",
    type=Bound("ending"),
    help="JSON as endingOffsets.  [default: everything]",
)
@click.option(
    "--keep-partitions",
    is_flag=True,
    help="Each record into the partition of its number; else by its key, as producers do.",
)
@click.option("--max-records-per-second", "rate", metavar="N", type=click.IntRange(1))
@click.option("--dry-run", is_flag=True, help="Print what would be copied, and do nothing.")
def command(arguments: SparkArguments) -> int:
    """Copy a slice of a topic into another: keys, values, headers and timestamps."""
    return run_verb("replay", arguments, understand, run)


def understand(arguments: SparkArguments) -> Replay:
    """Raises UsageError."""
    from kafkastore.spark.pipeline.replay import Replay

    own = arguments.own
    if len(arguments.topics) != 1 or arguments.pattern is not None:
        raise click.UsageError("give one --topic NAME, the topic to read")
    if not own["to_topic"]:
        raise click.UsageError("--to-topic is missing; name the topic to write to")
    if own["to_topic"] == arguments.topics[0]:
        raise click.UsageError(f"--to-topic {own['to_topic']} is the topic that is read; name another one")
    target = own["to_bootstrap"] or arguments.bootstrap_server
    if target is None:
        raise click.UsageError("--to-bootstrap-server is missing; name a broker of the cluster that is written to")
    kafka = kafka_of(own["to_command_config"]) if own["to_command_config"] else arguments.kafka
    return Replay(
        options={**(own["start"] or {}), **(own["end"] or {}), **arguments.source_options()},
        target=own["to_topic"],
        write_options={"kafka.bootstrap.servers": target, **kafka},
        keep_partitions=own["keep_partitions"],
        max_records_per_second=own["rate"],
    )


def run(spark: SparkSession, arguments: SparkArguments, replay: Replay) -> int:
    from kafkastore.spark.pipeline.replay import plan_replay, replay_topic

    with task_progress(spark, "replay", is_shown=arguments.shows_progress):
        is_dry = bool(arguments.own["dry_run"])
        ranges = plan_replay(spark, replay) if is_dry else replay_topic(spark, replay).ranges
    source = replay.options["subscribe"]
    records = sum(one.records for one in ranges)
    if arguments.is_json:
        its = [vars(one) for one in ranges]
        summary = {"topic": source, "to": replay.target, "records": records, "dryRun": is_dry, "partitions": its}
        sys.stdout.write(json.dumps(summary) + "\n")
    else:
        sys.stdout.write(_as_text(ranges, source, replay.target, records, is_dry))
    return 0


def _as_text(ranges: Sequence[OffsetRange], source: str, target: str, records: int, is_dry: bool) -> str:
    lines = [f"{source}-{one.partition}: offsets {one.start} to {one.end - 1}, {one.records} records" for one in ranges]
    what = "would be copied" if is_dry else "copied"
    return "\n".join([*(lines if is_dry else []), f"{records} records {what} from {source} to {target}"]) + "\n"
