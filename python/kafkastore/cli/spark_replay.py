"""``kafkastore spark replay``: its options, and what it prints."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from kafkastore.cli.spark_arguments import SparkArguments, bound_of, count_of, kafka_of
from kafkastore.cli.usage import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from kafkastore.spark.pipeline.replay import OffsetRange, Replay

CONF: dict[str, str] = {}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to-topic")
    parser.add_argument("--to-bootstrap-server", dest="to_bootstrap")
    parser.add_argument("--to-command-config")
    parser.add_argument("--from", dest="start")
    parser.add_argument("--to", dest="end")
    parser.add_argument("--keep-partitions", action="store_true")
    parser.add_argument("--max-records-per-second", dest="rate")
    parser.add_argument("--dry-run", action="store_true")


def understand(arguments: SparkArguments) -> Replay:
    """Raises UsageError."""
    from kafkastore.spark.pipeline.replay import Replay

    own = arguments.own
    if len(arguments.topics) != 1 or arguments.pattern is not None:
        raise UsageError("replay: give one --topic NAME, the topic to read")
    if not own["to_topic"]:
        raise UsageError("replay: --to-topic is missing; name the topic to write to")
    if own["to_topic"] == arguments.topics[0]:
        raise UsageError(f"replay: --to-topic {own['to_topic']} is the topic that is read; name another one")
    target = own["to_bootstrap"] or arguments.bootstrap_server
    if target is None:
        raise UsageError("replay: --to-bootstrap-server is missing; name a broker of the cluster that is written to")
    kafka = kafka_of(own["to_command_config"]) if own["to_command_config"] else arguments.kafka
    start = bound_of("--from", "starting", own["start"]) if own["start"] else {}
    end = bound_of("--to", "ending", own["end"]) if own["end"] else {}
    return Replay(
        options={**start, **end, **arguments.source_options()},
        target=own["to_topic"],
        write_options={"kafka.bootstrap.servers": target, **kafka},
        keep_partitions=own["keep_partitions"],
        max_records_per_second=count_of("--max-records-per-second", own["rate"]) if own["rate"] else None,
    )


def run(spark: SparkSession, arguments: SparkArguments, replay: Replay) -> int:
    from kafkastore.spark.pipeline.progress import bar
    from kafkastore.spark.pipeline.replay import plan_replay, replay_topic

    with bar(spark, "replay", is_shown=arguments.shows_progress):
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
