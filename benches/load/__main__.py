"""Measures the brokers in turn, each on an empty folder of its own, and writes the table of medians and ratios."""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from load.record import commit, machine, write_record
from load.scenarios import BETTER_HIGHER, SCENARIOS, Figures
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker

NOISY_CORES = 0.25  # CPU of other processes, in cores, above which the record has a warning
Measured = dict[tuple[str, str, str], list[float]]  # (kind, scenario, figure) -> a value for each round


def run_once(broker_class: type[BrokerProcess], chosen: list[str], figures: Measured) -> float:
    """Runs all scenarios on a new broker; returns the most cores that other processes used during a scenario."""
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-bench-"))
    broker = broker_class(folder)
    broker.write_properties()
    broker.prepare()
    noise = 0.0
    try:
        for name in chosen:
            found, usage = SCENARIOS[name](broker)
            noise = max(noise, usage.others_s / 3)
            for figure, value in found.items():
                figures.setdefault((broker.kind, name, figure), []).append(value)
            sys.stderr.write(f"{broker.kind:<11} {name:<42} {show(found)}\n")
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return noise


def show(found: Figures) -> str:
    return "  ".join(f"{figure} {number(value)}" for figure, value in found.items())


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(figures: Measured, kinds: list[str]) -> list[str]:
    """The table in Markdown; the ratio is kafkastore's over Apache Kafka's, an arrow shows which way is better."""
    lines = [f"| scenario | figure | {' | '.join(kinds)} |" + (" ratio |" if len(kinds) == 2 else "")]
    lines.append("|---|---|" + "---:|" * (len(kinds) + (len(kinds) == 2)))
    for _, name, figure in dict.fromkeys((kinds[0], name, figure) for _, name, figure in figures):
        medians = [statistics.median(figures[kind, name, figure]) for kind in kinds]
        cells = [number(value) for value in medians]
        if len(kinds) == 2:
            cells.append(
                f"{medians[1] / medians[0]:.2f} {'↑' if figure in BETTER_HIGHER else '↓'}" if medians[0] else ""
            )
        lines.append(f"| {name} | {figure} | {' | '.join(cells)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=2, help="how often each broker is measured; the table has the medians"
    )
    parser.add_argument("--only", default="", help="words of scenario names, comma separated (the start always runs)")
    parser.add_argument("--brokers", default="kafka,kafkastore", help="which, in this order")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    wanted = arguments.brokers.split(",")
    if not (shutil.which("java") and shutil.which("mvn")) and "kafka" in wanted:
        sys.stderr.write("no Java or Maven here: Apache Kafka is left out\n")
        wanted.remove("kafka")
    classes: dict[str, type[BrokerProcess]] = {"kafka": ApacheKafkaForMeasurement, "kafkastore": KafkastoreBroker}
    first, *others = SCENARIOS
    chosen = [
        first,
        *(name for name in others if name == "(warm-up)" or any(word in name for word in arguments.only.split(","))),
    ]
    figures: Measured = {}
    noise = max(run_once(classes[kind], chosen, figures) for _ in range(arguments.rounds) for kind in wanted)
    header = [f"# {commit()}", "", f"{machine()}. Brokers in turn, {arguments.rounds} rounds, medians."]
    header += ["The driver is Python on the same cores: rates are bounded by it, CPU per unit is the broker's own."]
    if "kafka" in wanted:
        header += ["Apache Kafka 4.4.0, 1 GB heap. Ratio: ours / Apache Kafka's; ↑ higher is better, ↓ lower."]
    if noise > NOISY_CORES:
        header += [f"Noisy: other processes used up to {noise:.1f} cores."]
    text = "\n".join([*header, "", *table(figures, wanted)]) + "\n"
    sys.stdout.write(text)
    if not arguments.no_record:
        write_record(text)


if __name__ == "__main__":
    main()
