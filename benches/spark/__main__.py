"""Spark over segment files beside Spark's Kafka connector: the same queries on the same topic, by turns, in one run.

    make spark-bench SPARK_BENCH_ARGS="--records 2000000 --bytes 1000 --codec none --broker kafka"

Starts a broker, fills a topic, then runs every query with every reader in turn, `--rounds` times after a round that
does not count; then writes the same rows with every sink. Answers must be equal. Prints the medians of the seconds and
their ratio, and writes them to benches/record/.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from load.record import commit, machine, write_record
from pyspark.sql import SparkSession
from readers import QUERIES, Answer, Reader, readers
from topic import Load, fill
from writers import SINKS, measure_writes

from kafkastore.spark import configure
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.jars import connector_jars
from peer.kafkastore_broker import KafkastoreBroker

GOALS = {
    (1000, "none"): {"count": 40, "ts": 15, "key": 12, "sumlen": 8, "all": 10},
    (1000, "zstd"): {"count": 40, "ts": 10, "key": 5, "sumlen": 4, "all": 5},
    (100, "none"): {"count": 60, "ts": 25, "key": 18, "sumlen": 12, "all": 10},
}
"""Of format("kafkastore") with Apache Kafka's broker behind the connector, by bytes of a value and codec."""
OTHER_GOALS = {"json": 6, "parquet": 1.8, "export": 4, "stream": 1.7, "write": 1.0, "write_once": 1.0}
KINDS: dict[str, type[BrokerProcess]] = {"kafka": ApacheKafkaForMeasurement, "kafkastore": KafkastoreBroker}
CONF = {
    "spark.driver.memory": "4g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
}
Seconds = dict[tuple[str, str], list[float]]  # (query, reader) -> one a round


def start_spark(cores: int) -> SparkSession:
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder: Any = SparkSession.builder.master(f"local[{cores}]").appName("kafkastore-bench")
    builder = configure(builder.config("spark.jars", connector_jars()))
    for name, value in CONF.items():
        builder = builder.config(name, value)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def measure(chosen: dict[str, Reader], queries: list[str], rounds: int) -> Seconds:
    """Runs every query with every reader by turns, after a round that warms up. RuntimeError when answers differ."""
    seconds: Seconds = {}
    answers: dict[str, Answer] = {}
    for number in range(rounds + 1):
        for query in queries:
            for name, reader in chosen.items():
                if query not in reader.queries:
                    continue
                started = time.perf_counter()
                answer = reader(query)
                took = time.perf_counter() - started
                if answers.setdefault(query, answer) != answer:
                    raise RuntimeError(f"{query}: {name} says {answer}, not {answers[query]}")
                if number:
                    seconds.setdefault((query, name), []).append(took)
                sys.stderr.write(f"{number} {query:<7} {name:<14} {took:7.3f} s  {answer}\n")
    return seconds


def table(seconds: Seconds, names: list[str], goals: dict[str, float]) -> list[str]:
    """Markdown; in brackets the ratio of the connector's median to the reader's."""
    first, *others = names
    lines = [f"| query | {first} s | {' | '.join(f'{name} s (ratio)' for name in others)} | goal |"]
    lines.append("|---|" + "---:|" * (len(names) + 1))
    for query in dict.fromkeys(query for query, _ in seconds):
        base = statistics.median(seconds[query, first])
        cells = [f"{base:.2f}"]
        for name in others:
            if (query, name) not in seconds:
                cells.append("")
                continue
            median = statistics.median(seconds[query, name])
            cells.append(f"{median:.2f} ({base / median:.1f})")
        lines.append(f"| {query} | {' | '.join(cells)} | {goals.get(query, '')} |")
    return lines


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make spark-bench", description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--bytes", type=int, default=1000, help="of a value")
    parser.add_argument("--codec", default="none")
    parser.add_argument("--broker", choices=sorted(KINDS), default="kafkastore")
    parser.add_argument("--rounds", type=int, default=3, help="how often each query is measured with each reader")
    parser.add_argument("--queries", default=",".join(QUERIES))
    parser.add_argument("--readers", default="", help="some of the readers, comma separated; the first is the measure")
    parser.add_argument("--cores", type=int, default=len(os.sched_getaffinity(0)), help="of Spark")
    parser.add_argument("--writes", choices=("yes", "no", "only"), default="yes", help="whether sinks are measured")
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


def goals_of(arguments: argparse.Namespace) -> dict[str, float]:
    return {**GOALS.get((arguments.bytes, arguments.codec), {}), **OTHER_GOALS}


def report(arguments: argparse.Namespace, size: int, busy: float, seconds: Seconds, names: list[str]) -> str:
    what = f"{arguments.records:,} records, {size / 1e6:,.0f} MB of values, codec {arguments.codec}, 4 partitions"
    return "\n".join(
        [
            f"# Spark, {commit()}",
            "",
            f"{machine()}.",
            (
                f"{what}; files written by {arguments.broker}. Spark 4.2.0 on local[{arguments.cores}], its connector"
                f" 4.2.0 with kafka-clients 3.9.2; {arguments.rounds} rounds by turns, medians; answers are equal."
            ),
            "All readers ask the broker how far may be read; the connector reads through it, on the same cores.",
            f"Load of the machine before: {busy:.1f} (0 is quiet).",
            "",
            *(table(seconds, names, goals_of(arguments)) if seconds else []),
            "",
        ]
    )


def main() -> None:
    arguments = parsed()
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-spark-bench-"))
    broker = KINDS[arguments.broker](folder)
    spark, busy = None, os.getloadavg()[0]
    try:
        broker.start()
        topic = Load("events", arguments.records, arguments.bytes, arguments.codec)
        size, names, seconds = arguments.records * arguments.bytes, list(SINKS), {}
        spark = start_spark(arguments.cores)
        if arguments.writes != "only":
            size, took = fill(broker.bootstrap, topic)
            sys.stderr.write(f"{arguments.records:,} records, {size / 1e6:,.0f} MB written in {took:.0f} s\n")
            chosen = readers(spark, broker, topic.topic)
            if arguments.readers:
                chosen = {name: chosen[name] for name in arguments.readers.split(",")}
            seconds = measure(chosen, arguments.queries.split(","), arguments.rounds)
            names = list(chosen)
        text = report(arguments, size, busy, seconds, names)
        if arguments.writes != "no":
            written = measure_writes(spark, broker, topic, arguments.cores, arguments.rounds)
            text += "\n".join(
                ["", "Sinks, each to a topic of its own:", "", *table(written, list(SINKS), OTHER_GOALS), ""]
            )
    finally:
        if spark is not None:
            spark.stop()
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(text)
    if not arguments.no_record:
        write_record(text, "-spark")


if __name__ == "__main__":
    main()
