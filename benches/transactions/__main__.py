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
from typing import Any, Final

from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.cache import digest, filled
from peer.go_program import ENVIRONMENT
from peer.kafkastore_broker import KafkastoreBroker

SOURCES: Final = Path(__file__).parent
CASES: Final = [
    (producers, records, partitions)
    for producers in (1, 16, 64)
    for records, partitions in ((1, 1), (10, 1), (10, 10), (100, 1), (100, 10))
]
"""(producers, records of a transaction, partitions of a transaction)"""

WARM_UP: Final = (16, 10, 10)
KAFKA, OURS = "kafka", "kafkastore"
OURS_PACED: Final = "kafkastore at Kafka's rate"
FIGURES: Final = ("commits_per_s", "broker_cpu_ms_per_commit", "commit_ms_p50", "commit_ms_p99", "failed")

Measured = dict[tuple[tuple[int, int, int], str, str], list[float]]  # (case, kind, figure) -> a value for each round


def program() -> Path:
    """The producers, built once into the cache of the tests' programs."""
    compiler = Path(sys.executable).with_name("go")
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in {".go", ".mod", ".sum"})
    command = [str(compiler), "build", "-C", str(SOURCES), "-trimpath", "-o", "{}/transactions", "."]
    return filled(f"transactions-{digest(*sources)}", command, ENVIRONMENT) / "transactions"


def run(
    case: tuple[int, int, int], bootstrap: str, pids: str, arguments: argparse.Namespace, rate: float = 0
) -> dict[str, Any]:
    """Figures of a case, with at most ``rate`` commits per second when it is not 0."""
    producers, records, partitions = case
    seconds = arguments.seconds
    given = {
        "bootstrap": bootstrap,
        "broker-pid": pids,
        "producers": producers,
        "records": records,
        "partitions": partitions,
        "seconds": seconds,
        "replication-factor": arguments.replicas,
        "rate": rate,
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
    """Notes the figures of each case, and of ours also at the rate that Apache Kafka has reached in this run."""
    run(WARM_UP, bootstrap, pids, arguments)
    for case in CASES:
        rates = {kind: 0.0}
        reached = figures.get((case, KAFKA, "commits_per_s"))
        if kind == OURS and reached:
            rates[OURS_PACED] = reached[-1]
        for noted, rate in rates.items():
            found = run(case, bootstrap, pids, arguments, rate)
            for figure in FIGURES:
                figures.setdefault((case, noted, figure), []).append(found.get(figure, 0.0))
            shown = "  ".join(f"{figure} {found.get(figure, 0.0):,.3g}" for figure in FIGURES)
            sys.stderr.write(f"{noted:<20} {case}: {shown}\n")


def note_running(figures: Measured, arguments: argparse.Namespace) -> None:
    """Brokers that run already: their kind is ``--kind``, and Apache Kafka's figures are read from ``--beside``."""
    if arguments.beside:
        for case, found in json.loads(Path(arguments.beside).read_text()):
            for figure, value in found.items():
                figures[tuple(case), KAFKA, figure] = [value]
    note(figures, arguments.kind, arguments.bootstrap, arguments.pids, arguments)
    if arguments.keep:
        kept = [(case, {figure: figures[case, arguments.kind, figure][-1] for figure in FIGURES}) for case in CASES]
        Path(arguments.keep).write_text(json.dumps(kept))


def table(figures: Measured) -> str:
    """A row for each case: the figures of all kinds, and ours divided by Apache Kafka's where both were measured."""
    kinds = list(dict.fromkeys(kind for _, kind, _ in figures))
    head = ["producers", "records", "partitions"]
    for figure in FIGURES:
        for kind in kinds:
            head += [f"{figure} {kind}"] + (["ratio"] if kind != KAFKA and KAFKA in kinds else [])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for case in CASES:
        cells = [str(number) for number in case]
        for figure in FIGURES:
            values = {kind: statistics.median(figures[case, kind, figure]) for kind in kinds}
            for kind, value in values.items():
                cells.append(f"{value:,.0f}" if value >= 100 else f"{value:.3g}")
                if kind != KAFKA and KAFKA in kinds:
                    cells.append(f"{value / values[KAFKA]:.2f}" if values[KAFKA] else "")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make transactions-bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement, after two of warming up")
    parser.add_argument("--brokers", default="kafka,kafkastore", help="which, in this order")
    parser.add_argument("--bootstrap", help="brokers that run already; their processes are PIDS")
    parser.add_argument("--pids", default="")
    parser.add_argument("--kind", default=OURS, choices=(KAFKA, OURS), help="what runs at HOST:PORT")
    parser.add_argument("--keep", help="a file for the figures of brokers that run already")
    parser.add_argument("--beside", help="such a file of Apache Kafka's figures")
    parser.add_argument("--replicas", type=int, default=1, help="replication factor of the topics")
    arguments = parser.parse_args()
    figures: Measured = {}
    classes: dict[str, type[BrokerProcess]] = {KAFKA: ApacheKafkaForMeasurement, OURS: KafkastoreBroker}
    for _ in range(arguments.rounds):
        if arguments.bootstrap:
            note_running(figures, arguments)
        else:
            for kind in arguments.brokers.split(","):
                measure(classes[kind], arguments, figures)
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
