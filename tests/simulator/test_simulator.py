"""The simulator finds what is planted, and nothing in what we ship; and it does the same again (F27 of the reliability
plan).

Each test plays seeds in processes of its own: the data plane that is driven step by step takes the place of the wheel's
there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
LIBRARY = TESTS.parent / "target" / "simulator" / "libkafkastore.so"

SEEDS = 80
"""Half a minute on two cores; more are played by hand."""

LIMIT_S = 300
"""What no test should need, however busy the machine is."""

NO_SCRIPT = ""

FINDERS = {
    "truncate-to-hw": NO_SCRIPT,
    "isr-without-version": "late",
    "move-before-in-sync": NO_SCRIPT,
    "delete-without-id": NO_SCRIPT,
    "lost-wake-up": NO_SCRIPT,
    "no-min-isr-gate": "last-standing",
    "fetch-without-epoch": "power-of-all",
    "late-leader-and-isr": "late",
    "late-stop-replica": "late",
    "order-for-an-earlier-life": "late",
    "late-produce": "transactions",
    "late-offset-commit": "transactions",
    "marker-in-newer-epoch": "transactions",
    "delete-horizon-ignored": "compaction",
}
"""The script of which some seed finds each planted bug. What a seed plays changes with each change of what brokers do,
so the first seeds are searched and none is named."""

SERIOUS = (
    *("divergent:", "lost:", "stuck:", "stalled:", "unexpected:"),
    *("torn:", "uncommitted:", "aborted-read:", "overlapping:", "hanging:"),
    *("offset-torn:", "offset-uncommitted:", "offset-back:", "offset-unstable:"),
    *("key-lost:", "key-deleted:"),
)
"""Some of these rules each planted bug breaks."""

SEARCHED_SEEDS = 200

SCRIPTED_SEEDS = 25

TRANSACTION_SEEDS = 1000
"""Of the script ``transactions``; each takes 0.7 s on one core."""

SEGMENTS_A_SEED = 20
"""At the least: each run rolls its segments again and again."""

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="make simulator-core builds what is simulated")


def play(*arguments: object, hash_seed: str = "random") -> tuple[int, list[str]]:
    """Exit status and lines."""
    done = subprocess.run(
        [sys.executable, "-m", "simulator", *map(str, arguments)],
        cwd=TESTS,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, done.stdout.splitlines()


def summary(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lines[-1])
    return found


@pytest.mark.timeout(LIMIT_S)
def test_no_seed_breaks_a_promise() -> None:  # I1 to I4, I6 to I8
    status, lines = play("--seeds", SEEDS)
    print(lines[-2])
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["seeds"] == SEEDS
    assert summary(lines)["segments"] >= SEGMENTS_A_SEED * SEEDS


def scripted(script: str) -> list[str]:
    return ["--script", script] if script else []


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize(("bug", "script"), FINDERS.items())
def test_planted_bug_is_found(bug: str, script: str) -> None:
    """H1, H2, H7, H16, H19, H20, H21, R2.5, KIP-516; each fence of a late request. The seed that
    finds it passes without it."""
    status, lines = play("--planted", bug, *scripted(script), "--seeds", SEARCHED_SEEDS, "--jobs", 1)
    (seed,) = summary(lines)["failed"]
    assert status == 1
    assert any(line.strip().startswith(SERIOUS) for line in lines)
    print(f"{bug} is found by seed {seed} {script}")
    status, lines = play(*scripted(script), "--from", seed, "--seeds", 1, "--jobs", 1)
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)


def test_fetch_without_epoch_is_found_by_fast_fail_overs() -> None:  # H3, KIP-279
    status, lines = play(
        "--planted", "fetch-without-epoch", "--script", "fast-fail-over", "--seeds", SEARCHED_SEEDS, "--jobs", 1
    )
    assert (status, len(summary(lines)["failed"])) == (1, 1)


@pytest.mark.timeout(4 * LIMIT_S)
def test_transactions_break_no_promise() -> None:
    """H11 to H14, KIP-98, KIP-447, KIP-890."""
    status, lines = play("--script", "transactions", "--seeds", TRANSACTION_SEEDS)
    print(lines[-2])
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["seeds"] == TRANSACTION_SEEDS
    assert summary(lines)["leaders"] >= 6 * TRANSACTION_SEEDS


@pytest.mark.parametrize(
    ("script", "leaders"),
    [("power-of-all", 100), ("fast-fail-over", 300), ("late", 200), ("last-standing", 100), ("compaction", 200)],
)
def test_scripted_faults_break_no_promise(script: str, leaders: int) -> None:
    """H2, KIP-101; H3, KIP-279; H7; H19, H20; R4.5, KIP-534."""
    status, lines = play("--script", script, "--seeds", SCRIPTED_SEEDS)
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["leaders"] >= leaders


def test_same_seed_is_the_same_run() -> None:
    """Whatever the process, its hashes and what it played before."""
    first = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="1")
    again = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="2")
    alone = play("--from", 9, "--seeds", 1, "--jobs", 1, "--trace", "--digests", hash_seed="3")
    assert first[1][:-2] == again[1][:-2]
    assert alone[1][:-2] == first[1][-2 - len(alone[1][:-2]) : -2]
    assert len(alone[1]) > SEEDS
