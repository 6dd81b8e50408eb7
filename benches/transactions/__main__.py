"""Commits per second, their latency and the broker's CPU, by turns with Apache Kafka, each on an empty folder.

``python -m transactions --bootstrap HOST:PORT --pids N,N`` measures brokers that run already, such as a cluster.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.cache import digest, filled
from peer.go_program import ENVIRONMENT
from peer.kafkastore_broker import KafkastoreBroker

if TYPE_CHECKING:
    from peer.broker_process import BrokerProcess

SOURCES: Final = Path(__file__).parent
CASES: Final = [
    (producers, records, partitions)
    for producers in (1, 16, 64)
    for records, partitions in ((1, 1), (10, 1), (10, 10), (100, 1), (100, 10))
]
"""(producers, records of a transaction, partitions of a transaction)"""

WARM_UP: Final = (16, 10, 10)
FIGURES: Final = ("commits_per_s", "broker_cpu_ms_per_commit", "commit_ms_p50", "commit_ms_p99")

Measured = dict[tuple[tuple[int, int, int], str, str], list[float]]  # (case, kind, figure) -> a value for each round


def program() -> Path:
    """The producers, built once into the cache of the tests' programs."""
    compiler = Path(sys.executable).with_name("go")
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    command = [str(compiler), "build", "-C", str(SOURCES), "-trimpath", "-o", "{}/transactions", "."]
    return filled(f"transactions-{digest(*sources)}", command, ENVIRONMENT) / "transactions"


def run(case: tuple[int, int, int], bootstrap: str, pids: str, seconds: float, replicas: int) -> dict[str, Any]:
    producers, records, partitions = case
    given = {
        "bootstrap": bootstrap,
        "broker-pid": pids,
        "producers": producers,
        "records": records,
        "partitions": partitions,
        "seconds": seconds,
        "replication-factor": replicas,
    }
    command = [str(program()), *(f"-{name}={value}" for name, value in given.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 120)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure(broker_class: type[BrokerProcess], arguments: argparse.Namespace, figures: Measured) -> None:
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-transactions-"))
    broker = broker_class(folder)
    broker.write_properties()
    broker.prepare()
    broker.start()
    try:
        assert broker.process is not None
        note(figures, broker.kind, f"127.0.0.1:{broker.port}", str(broker.process.pid), arguments)
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def note(figures: Measured, kind: str, bootstrap: str, pids: str, arguments: argparse.Namespace) -> None:
    run(WARM_UP, bootstrap, pids, arguments.seconds, arguments.replicas)
    for case in CASES:
        found = run(case, bootstrap, pids, arguments.seconds, arguments.replicas)
        for figure in FIGURES:
            figures.setdefault((case, kind, figure), []).append(found.get(figure, 0.0))
        shown = "  ".join(f"{figure} {found.get(figure, 0.0):,.3g}" for figure in FIGURES)
        sys.stderr.write(f"{kind:<11} {case}: {shown}\n")


def table(figures: Measured, kinds: list[str]) -> str:
    """A row for each case: the figures of all kinds, and ours divided by Apache Kafka's where both were measured."""
    head = ["producers", "records", "partitions"]
    for figure in FIGURES:
        head += [f"{figure} {kind}" for kind in kinds] + (["ratio"] if len(kinds) == 2 else [])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for case in CASES:
        cells = [str(number) for number in case]
        for figure in FIGURES:
            values = [statistics.median(figures[case, kind, figure]) for kind in kinds]
            cells += [f"{value:,.0f}" if value >= 100 else f"{value:.3g}" for value in values]
            if len(values) == 2:
                cells.append(f"{values[1] / values[0]:.2f}" if values[0] else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make transactions-bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement, after two of warming up")
    parser.add_argument("--brokers", default="kafka,kafkastore", help="which, in this order")
    parser.add_argument("--bootstrap", help="brokers that run already; their processes are PIDS")
    parser.add_argument("--pids", default="")
    parser.add_argument("--replicas", type=int, default=1, help="replication factor of the topics")
    arguments = parser.parse_args()
    figures: Measured = {}
    if arguments.bootstrap:
        kinds = ["running"]
        for _ in range(arguments.rounds):
            note(figures, "running", arguments.bootstrap, arguments.pids, arguments)
    else:
        kinds = arguments.brokers.split(",")
        classes: dict[str, type[BrokerProcess]] = {"kafka": ApacheKafkaForMeasurement, "kafkastore": KafkastoreBroker}
        for _ in range(arguments.rounds):
            for kind in kinds:
                measure(classes[kind], arguments, figures)
    sys.stdout.write(table(figures, kinds))


if __name__ == "__main__":
    main()
