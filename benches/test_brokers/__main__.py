"""Brokers for tests beside each other: what each costs, and what it can do.

    make test-brokers-bench
    make test-brokers-bench TEST_BROKERS_ARGS="--rounds 3 --only kfake,kafkastore.testing --no-probes"

Each broker is held by a process of its own language. *First* is from the start of that process to a record that is
acknowledged, *next* the same of another broker in the process that has had one; *resident* is the process' memory after
the first. The record is produced over a plain socket, so no client's start is measured. The kinds take turns, round
after round; what is printed are medians, and how many times kafkastore.testing's they are. The last table says which of
`probes.py` pass; why others do not goes to stderr.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import defaultdict

from test_brokers.brokers import KINDS
from test_brokers.probes import PROBES, refusal
from test_brokers.process import Process

OURS = "kafkastore.testing"
NEXT = 5
"""Brokers after the first, in each process."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="names of brokers, comma separated")
    parser.add_argument("--no-probes", action="store_true")
    given = parser.parse_args()
    kinds = [name for name in KINDS if not given.only or name in given.only.split(",")]
    figures: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in kinds}
    for _ in range(given.rounds):
        for name in kinds:
            _measure(name, figures[name])
    print("| | first | next | resident |\n|---|---|---|---|")
    for name in kinds:
        print(f"| {name} |", " | ".join(_cell(figures, name, what) for what in ("first", "next", "resident")), "|")
    if not given.no_probes:
        _probe(kinds)


def _measure(name: str, figures: dict[str, list[float]]) -> None:
    with Process(KINDS[name]) as process:
        figures["first"].append(process.first_ms)
        figures["resident"].append(process.resident_mib())
        if KINDS[name].starts_again:
            figures["next"] += [process.next_ms() for _ in range(NEXT)]


def _cell(figures: dict[str, dict[str, list[float]]], name: str, what: str) -> str:
    if not figures[name][what]:
        return ""
    median = statistics.median(figures[name][what])
    ours = figures.get(OURS, figures[name])[what]
    return f"{median:.1f} {'MiB' if what == 'resident' else 'ms'} ({median / statistics.median(ours):.2g}x)"


def _probe(kinds: list[str]) -> None:
    print(f"\n| | {' | '.join(PROBES)} |\n|---|{'---|' * len(PROBES)}")
    for name in kinds:
        with Process(KINDS[name]) as process:
            found = {probe: refusal(process.address, probe) for probe in PROBES}
        print(f"| {name} |", " | ".join("no" if reason else "yes" for reason in found.values()), "|")
        for probe, reason in found.items():
            if reason:
                print(f"{name}: {probe}: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
