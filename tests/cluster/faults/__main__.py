"""Injects each fault into a few brokers a number of times, and prints a table of what became of the records.

    cd tests; python -m cluster.faults [--store zookeeper|sqlite] [--runs N] [--secure] [--folder DIR] [SCENARIO ...]

Without --runs each scenario runs as often as for a record in benches/record, without names all scenarios run. The exit
status is 1 when a promise was broken, 2 when this machine cannot inject faults. A trial that broke a promise leaves its
logs and the brokers' output in the folder's ``broken``.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
import time
from pathlib import Path

from cluster.cluster import SESSION_MS
from cluster.faults import private_machine
from cluster.faults.faulty_cluster import FaultyCluster
from cluster.faults.reassignment_faults import BROKERS
from cluster.faults.scenarios import BOTH, SCENARIOS, Scenario
from cluster.faults.table import HEAD, row
from cluster.faults.traffic import RATE_PER_S
from cluster.faults.trial import Outcome, Trial
from peer.jars import classpath

OVERRIDES = {
    "replication.quota.window.num": "2",  # limits a move to its rate after its first second, not after ten
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",  # Kafka's default is 10 s
}

MOVES = {"replica.fetch.response.max.bytes": "200000"}
"""On clusters of four brokers, whose partitions move: else the first fetch of a broker that comes back brings
megabytes, whatever the limit of the move."""

SHOWN = 5
"""How many broken promises of one trial are printed; the folder has all of them."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="cluster.faults", description="Faults, many times, and a table of what came of them."
    )
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--store", choices=BOTH, default=BOTH[0])
    parser.add_argument("--runs", type=int, default=0, help="as often as for a record, if not given")
    parser.add_argument("--secure", action="store_true", help="brokers reach each other by SASL_SSL")
    parser.add_argument("--folder", type=Path, help="where the brokers live; by default a temporary one")
    asked = parser.parse_args()
    for name in asked.scenarios:
        if name not in SCENARIOS:
            parser.error(f"there is no scenario {name}; there are {', '.join(SCENARIOS)}")
    return asked


def fetch_jars(asked: argparse.Namespace) -> None:
    """Fetches Kafka's jars for Java's producers now: the private machine cannot reach their source."""
    if not private_machine.is_inside() and any(
        name.startswith("transactions-") for name in asked.scenarios or SCENARIOS
    ):
        classpath()


def main() -> int:
    asked = arguments()
    fetch_jars(asked)
    try:
        private_machine.enter("cluster.faults", sys.argv[1:])
        return run_asked(asked)
    except private_machine.MachineError as error:
        print(error, file=sys.stderr)
        return 2


def run_asked(asked: argparse.Namespace) -> int:
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="faults-"))
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [SCENARIOS[name] for name in asked.scenarios or SCENARIOS if asked.store in SCENARIOS[name].stores]
    is_kept = run_in(folder.resolve(), asked, chosen)
    if is_kept and asked.folder is None:
        shutil.rmtree(folder)
    elif not is_kept:
        print(f"Promises were broken; what the brokers printed and the logs are in {folder}", file=sys.stderr)
    return 0 if is_kept else 1


def run_in(folder: Path, asked: argparse.Namespace, chosen: list[Scenario]) -> bool:
    """Runs the scenarios; returns whether every promise was kept. The table goes to stdout, the progress to stderr."""
    print(f"Sessions of {SESSION_MS / 1000:g} s, {RATE_PER_S:,} records/s.\n\n{HEAD}", flush=True)
    broken: list[str] = []  # every scenario runs, also after a broken promise
    for size, some in itertools.groupby(sorted(chosen, key=lambda one: one.brokers), key=lambda one: one.brokers):
        broken += run_on(folder / f"of-{size}", size, asked, list(some))
    return not broken


def run_on(folder: Path, size: int, asked: argparse.Namespace, chosen: list[Scenario]) -> list[str]:
    """Runs the scenarios on a cluster of ``size`` brokers; returns those that broke a promise."""
    folder.mkdir()
    overrides = OVERRIDES | (MOVES if size == BROKERS else {})
    cluster = FaultyCluster(folder, asked.store, size, overrides, is_secure=asked.secure)
    try:
        cluster.prove()
        cluster.start()
        return [one.name for one in chosen if not run_all(cluster, one, asked.store, asked.runs or one.runs)]
    finally:
        cluster.discard()


def run_all(cluster: FaultyCluster, scenario: Scenario, store: str, runs: int) -> bool:
    """Runs all trials of a scenario; returns whether every promise was kept. Prints the scenario's row of the table,
    also when it is interrupted."""
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(run_one(cluster, scenario, number) for number in range(runs))
    finally:
        print(row(scenario.name, store, outcomes), flush=True)
    return not any(outcome.violations for outcome in outcomes)


def run_one(cluster: FaultyCluster, scenario: Scenario, number: int) -> Outcome:
    start = time.monotonic()
    trial = Trial(cluster, scenario.name, number, scenario.place(number) if scenario.place else None)
    trial.attempt("the beginning", lambda: trial.begin(scenario.config, scenario.prepare))
    if not trial.outcome.violations:
        trial.attempt(scenario.name, lambda: scenario.run(trial))
    outcome = trial.end()
    said = f"{scenario.name} {number}: {outcome.acked:,} acknowledged, {time.monotonic() - start:.1f} s"
    stalled = f", {outcome.stalls} calls of librdkafka never returned" if outcome.stalls else ""
    print(f"{said}, resumed after {outcome.resumed_after_s or 0:.2f} s{stalled}", file=sys.stderr, flush=True)
    for violation in outcome.violations[:SHOWN]:
        print(f"  {violation}", file=sys.stderr, flush=True)
    if outcome.violations:
        trial.keep(cluster.folder / "broken" / trial.topic)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
