"""The simulator finds what is planted, and nothing in what we ship; and it does the same again.

Each test plays seeds in processes of its own: the data plane that is driven step by step takes the place of the wheel's
there.

`make test` plays every script, and some 80 seeds that begin where the commit says: each commit plays others, so that
the commits of a week together play what `make proof` plays at once, 5,000 fresh ones. It searches for the planted bugs
that a few seeds find; `make proof` for all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proof.scope import played
from proof.seeds import VARIABLE, first_seed

TESTS = Path(__file__).resolve().parents[1]

SEEDS = played(12, 1500)
"""Without a script."""

TRANSACTION_SEEDS = played(25, 2500)
"""Of the script ``transactions``; each takes 0.7 s on one core."""

SCRIPTED_SEEDS = played(8, 200)
"""Of each other script."""

LIMIT_S = played(900, 3600)
"""What no test should need, however busy the machine is."""

SEARCHES = (
    *("truncate-to-hw", "move-before-in-sync", "delete-without-id", "lost-wake-up"),
    *("isr-without-version:late", "late-leader-and-isr:late", "late-stop-replica:late"),
    *("order-for-an-earlier-life:late", "no-min-isr-gate:last-standing"),
    *("fetch-without-epoch:power-of-all", "fetch-without-epoch:fast-fail-over"),
    *("late-produce:transactions", "late-offset-commit:transactions", "marker-in-newer-epoch:transactions"),
    "delete-horizon-ignored:compaction",
)
"""Each planted bug, with a script of which some seed finds it. What a seed plays changes with each change of what
brokers do, so the first seeds are searched and none is named."""

LONG_SEARCHES = ("truncate-to-hw", "late-stop-replica:late")
"""These need dozens of seeds (87 and 27 in November 2026), the others at most nine. `make proof` searches for all."""

SERIOUS = (
    *("divergent:", "lost:", "stuck:", "stalled:", "unexpected:"),
    *("torn:", "uncommitted:", "aborted-read:", "overlapping:", "hanging:"),
    *("offset-torn:", "offset-uncommitted:", "offset-back:", "offset-unstable:"),
    *("key-lost:", "key-deleted:"),
)
"""Some of these rules each planted bug breaks."""

SEARCHED_SEEDS = 200

SEGMENTS_A_SEED = 20
"""At the least: each run rolls its segments again and again."""

pytestmark = pytest.mark.timeout(LIMIT_S)


def run(module: str, *arguments: object, hash_seed: str = "random") -> tuple[int, list[str]]:
    """Exit status and lines."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=TESTS,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout.splitlines()


def play(*arguments: object, hash_seed: str = "random") -> tuple[int, list[str]]:
    return run("simulator", *arguments, hash_seed=hash_seed)


def summary(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def play_fresh(seeds: int, *arguments: object) -> dict[str, Any]:
    """Plays so many seeds of this run, of which none may fail; returns the summary."""
    print(f"seeds from {first_seed()} ({VARIABLE})")
    status, lines = play("--from", first_seed(), "--seeds", seeds, *arguments)
    print(lines[-2])
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["seeds"] == seeds
    return summary(lines)


def test_no_seed_breaks_a_promise() -> None:  # the rules of history/checker.py
    assert play_fresh(SEEDS)["segments"] >= SEGMENTS_A_SEED * SEEDS


@pytest.fixture(scope="module")
def hunted(request: pytest.FixtureRequest) -> dict[str, dict[str, Any]]:
    """What was found for each test that was chosen. One process searches for all: a start costs more than many a
    search."""
    asked = [item.callspec.params["search"] for item in request.session.items if "hunted" in item.fixturenames]
    _, lines = run("simulator.hunt", *dict.fromkeys(asked), "--seeds", SEARCHED_SEEDS)
    return {found["search"]: found for found in map(json.loads, lines)}


@pytest.mark.parametrize("search", played(tuple(one for one in SEARCHES if one not in LONG_SEARCHES), SEARCHES))
def test_planted_bug_is_found(search: str, hunted: dict[str, dict[str, Any]]) -> None:
    """H1, H2, H3, H7, H16, H19, H20, H21, KIP-279, KIP-516; each fence of a late request. The
    seed that finds it passes without it."""
    found = hunted[search]
    print(f"{search} is found by seed {found['seed']} in {found['seconds']} s")
    assert found["seed"] is not None
    assert any(line.startswith(SERIOUS) for line in found["violations"])
    assert found["without"] == []


def test_transactions_break_no_promise() -> None:
    """H11 to H14, KIP-98, KIP-447, KIP-890."""
    assert play_fresh(TRANSACTION_SEEDS, "--script", "transactions")["leaders"] >= 6 * TRANSACTION_SEEDS


LEADERS = {
    "power-of-all": played(3.0, 3.6),
    "fast-fail-over": played(8.0, 11.0),
    "late": played(4.0, 6.0),
    "last-standing": played(3.0, 3.4),
    "compaction": played(6.0, 10.0),
}
"""A script's leaders in a seed, at the least: those of eight fresh seeds may all lie well below the mean, those of 200
may not. Each seed begins with up to three."""


@pytest.mark.parametrize("script", LEADERS)
def test_scripted_faults_break_no_promise(script: str) -> None:
    """H2, KIP-101; H3, KIP-279; H7; H19, H20; KIP-534."""
    assert play_fresh(SCRIPTED_SEEDS, "--script", script)["leaders"] >= LEADERS[script] * SCRIPTED_SEEDS


def test_same_seed_is_the_same_run() -> None:
    """Whatever the process, its hashes and what it played before."""
    first = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="1")
    again = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="2")
    alone = play("--from", 9, "--seeds", 1, "--jobs", 1, "--trace", "--digests", hash_seed="3")
    assert first[1][:-2] == again[1][:-2]
    assert alone[1][:-2] == first[1][-2 - len(alone[1][:-2]) : -2]
    assert len(alone[1]) > 80
