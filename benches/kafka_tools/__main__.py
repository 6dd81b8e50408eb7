"""How long Kafka's command line tools take, and ours of the same names, on the same broker: until the first line, and
in all.

    PYTHONPATH=tests:benches python -m kafka_tools [--rounds 5] [--brokers kafka,kafkastore] [--tool kafka-topics]

Starts each broker (of the environment's ``kafkastore``, and Apache Kafka) and runs every row in turns, Kafka's and
ours. Kafka's tools run in a JVM with the options of Kafka's own scripts. Prints a row a tool: the medians, and ours as
a part of Kafka's.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.jars import classpath
from peer.java_tools import TOOLS
from peer.kafkastore_broker import KafkastoreBroker

JVM = ["-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true"]
LIMIT_S = 120
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
"""Without one there are no ACLs to list."""
CLASSES = TOOLS | {"kafka-verifiable-producer": "org.apache.kafka.tools.VerifiableProducer"}
TOPIC = "measured"


class Row(NamedTuple):
    """``{}`` in the words is the broker's address."""

    tool: str
    words: tuple[str, ...]
    stdin: str = ""


SERVER = ("--bootstrap-server", "{}")
ROWS = (
    Row("kafka-topics", (*SERVER, "--list")),
    Row("kafka-topics", (*SERVER, "--describe", "--topic", TOPIC)),
    Row("kafka-configs", (*SERVER, "--describe", "--entity-type", "topics", "--entity-name", TOPIC, "--all")),
    Row("kafka-acls", (*SERVER, "--list")),
    Row("kafka-consumer-groups", (*SERVER, "--list")),
    Row("kafka-consumer-groups", (*SERVER, "--describe", "--all-groups")),
    Row("kafka-groups", (*SERVER, "--list")),
    Row("kafka-get-offsets", (*SERVER, "--topic", TOPIC)),
    Row("kafka-log-dirs", (*SERVER, "--describe")),
    Row("kafka-reassign-partitions", (*SERVER, "--list")),
    Row("kafka-leader-election", (*SERVER, "--election-type", "preferred", "--all-topic-partitions")),
    Row("kafka-transactions", (*SERVER, "list")),
    Row("kafka-features", (*SERVER, "describe")),
    Row("kafka-cluster", ("cluster-id", *SERVER)),
    Row("kafka-broker-api-versions", SERVER),
    Row("kafka-console-producer", (*SERVER, "--topic", TOPIC), "a\nb\nc\n"),
    Row("kafka-console-consumer", (*SERVER, "--topic", TOPIC, "--from-beginning", "--max-messages", "3")),
    Row(
        "kafka-producer-perf-test",
        (*SERVER, *["--topic", "measured", "--num-records", "1", "--record-size", "9", "--throughput", "-1"]),
    ),
    Row("kafka-consumer-perf-test", (*SERVER, "--topic", TOPIC, "--num-records", "3")),
    Row("kafka-verifiable-producer", (*SERVER, "--topic", TOPIC, "--max-messages", "1")),
    Row("kafka-storage", ("random-uuid",)),
)


class Seconds(NamedTuple):
    """Until the first line on stdout (None when there is none), and until the end."""

    first: float | None
    end: float


def run(command: list[str], stdin: str) -> Seconds:
    """Runs a tool to its end. Raises RuntimeError when it fails."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        line = process.stdout.readline()
        first = time.perf_counter() - began if line else None
        process.stdout.read()
        assert process.stderr is not None
        said = process.stderr.read()
        if process.wait(LIMIT_S):
            raise RuntimeError(f"{' '.join(command[-6:])} ended with {process.returncode}: {said[-500:]}")
    return Seconds(first, time.perf_counter() - began)


def commands(row: Row, bootstrap: str) -> tuple[list[str], list[str]]:
    """Kafka's and ours."""
    words = [word.replace("{}", bootstrap) for word in row.words]
    theirs = ["java", *JVM, "-cp", classpath(), CLASSES[row.tool], *words]
    return theirs, [os.environ.get("KAFKASTORE", "kafkastore"), row.tool, *words]


def measure(broker: BrokerProcess, row: Row, rounds: int) -> str:
    """The row of the table."""
    found: tuple[list[Seconds], list[Seconds]] = ([], [])
    for _ in range(rounds):
        for seconds, command in zip(found, commands(row, broker.bootstrap), strict=True):
            seconds.append(run(command, row.stdin))
    firsts = [_median([one.first for one in seconds]) for seconds in found]
    ends = [_median([one.end for one in seconds]) for seconds in found]
    cells = [f"{row.tool} {' '.join(row.words[:4]).replace('--bootstrap-server {}', '').strip()}", broker.kind]
    for theirs, ours in (firsts, ends):
        cells += (
            ["", "", ""]
            if theirs is None or ours is None
            else [f"{theirs:.2f} s", f"{ours:.3f} s", f"{ours / theirs:.3f}"]
        )
    return f"| {' | '.join(cells)} |"


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--brokers", default="kafkastore,kafka")
    parser.add_argument("--tool", help="only this one")
    options = parser.parse_args()
    kinds = {"kafka": ApacheKafkaForMeasurement, "kafkastore": KafkastoreBroker}
    print("| tool | broker | Kafka's first line | ours | ratio | Kafka's end | ours | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.brokers.split(","):
        with tempfile.TemporaryDirectory() as folder:
            broker = kinds[name](Path(folder), AUTHORIZER)
            broker.start()
            try:
                run(commands(Row("kafka-topics", (*SERVER, "--create", "--topic", TOPIC)), broker.bootstrap)[1], "")
                run(commands(ROWS[-6], broker.bootstrap)[1], "a\nb\nc\n")
                for row in ROWS:
                    if options.tool in (None, row.tool):
                        print(measure(broker, row, options.rounds), flush=True)
            finally:
                broker.stop()


if __name__ == "__main__":
    main()
