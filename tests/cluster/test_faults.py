"""Faults on real processes, disks and networks: no acknowledged record is lost, doubled or different on two replicas.

`make proof` injects every fault three times, on each store that it has. `make test` injects one of each mechanism,
once: a broker that dies, one that is cut off, a power loss of all disks, a store that is away, a coordinator of
transactions that dies, and a move whose brokers bounce; on either store some. What it leaves out differs from these by
who is struck, or has a test of its own in this folder, in ``crash`` or in the simulator.

``python -m cluster.faults`` injects each of them many times; its results are in benches/record. It needs root, for its
own mounts, network namespaces and loop devices, which all end with it.
"""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.faults.scenarios import BOTH, SCENARIOS
from peer.jars import classpath
from proof.scope import IS_WHOLE, played

TESTS = Path(__file__).resolve().parents[1]

TRIES = 3
"""librdkafka 2.16.1 uses a group that is gone (rd_kafka_cgrp_op), probably when a consumer is closed while its
coordinator changes, seldom and on busy machines only. A run that dies of that is no run, and is done again."""

RUNS = played(1, 3)
LIMIT_S = 600

CHOSEN = [
    # H5, H9, H13, H16, H28
    ("zookeeper", "leader-cut-off"),
    ("zookeeper", "store-away"),
    ("sqlite", "leader-killed"),
    ("sqlite", "power-of-all"),
    ("sqlite", "transactions-coordinator-killed"),
    ("sqlite", "reassign-bounce"),
]
EVERY = [(store, name) for store in BOTH for name, one in SCENARIOS.items() if store in one.stores]

MAY_LOSE = {"power-of-all-unsynced"}
"""These lose what nobody had synced."""

Rows = dict[str, list[str]]
"""The cells of each scenario's row of the table."""


@pytest.fixture(scope="module")
def rows_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], tuple[Rows, str]]:
    """Injects a fault on a store; returns the table and all that was said. In `make test` all faults of a store are
    injected into one cluster, since a cluster's start costs as much as many a fault."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    asked = [item.callspec.params for item in items if "rows_of" in item.fixturenames]

    @functools.cache
    def run_all(store: str, names: tuple[str, ...]) -> tuple[Rows, str]:
        return run(store, names, tmp_path_factory.mktemp(store))

    def of(store: str, name: str) -> tuple[Rows, str]:
        if IS_WHOLE:
            return run_all(store, (name,))
        return run_all(store, tuple(one["name"] for one in asked if one["store"] == store))

    return of


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize(("store", "name"), played(CHOSEN, EVERY))
def test_promises_are_kept_through_a_fault(
    store: str, name: str, rows_of: Callable[[str, str], tuple[Rows, str]]
) -> None:
    rows, said = rows_of(store, name)
    assert name in rows, said
    _, _, runs, acknowledged, *counts = rows[name]
    lost_duplicated_divergent, violations = counts[:3], counts[-1]
    assert (runs, violations) == (str(RUNS), "0"), said
    assert acknowledged != "0"
    assert name in MAY_LOSE or lost_duplicated_divergent == ["0", "0", "0"], said


def run(store: str, names: tuple[str, ...], folder: Path) -> tuple[Rows, str]:
    classpath()  # fetches the jars now: the brokers' network cannot reach their source
    command = [sys.executable, "-m", "cluster.faults", "--runs", str(RUNS), "--store", store, "--folder", ""]
    for number in range(TRIES):
        command[-1] = str(folder / str(number))
        done = subprocess.run([*command, *names], cwd=TESTS, capture_output=True, text=True, check=False)
        if done.returncode != -signal.SIGSEGV:
            break
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line]
    return {cells[0]: cells for cells in table}, f"{done.stdout}\n{done.stderr}"
