"""The simulator finds what is planted, and nothing in what we ship; and it does the same again (F27 of the reliability plan).

Each test plays seeds in processes of its own: the data plane that is driven step by step takes the place of the wheel's there.
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

SEEDS = 1000
PLAY_S = 40
"""What a run of the tests may take for as many seeds as it can of these; more are played by hand."""

LEAST_SEEDS = 100
"""Fewer than this in that time, and the machine, or the simulator, is too slow to say anything."""

FINDERS = {
    "truncate-to-hw": 74,
    "no-min-isr-gate": 1064,
    "isr-without-version": 169,
    "move-before-in-sync": 1,
    "delete-without-id": 115,
}
"""A seed that finds each planted bug; without the bug it is played among the others."""

SCRIPTED_SEEDS = 30

SCRIPT_FINDERS = {"power-of-all": 2, "fast-fail-over": 9}
"""A seed of each script that finds followers that do not say in which epoch their log ends."""

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


@pytest.mark.timeout(4 * PLAY_S)
def test_no_seed_breaks_a_promise() -> None:  # I1 to I4, I6 to I8
    status, lines = play("--seeds", SEEDS, "--limit", PLAY_S)
    print(lines[-2])
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["seeds"] >= LEAST_SEEDS


@pytest.mark.parametrize(("bug", "seed"), FINDERS.items())
def test_planted_bug_is_found(bug: str, seed: int) -> None:  # H1, H7, H16, H21, R2.5, KIP-516
    status, lines = play("--planted", bug, "--from", seed, "--seeds", 1, "--jobs", 1)
    assert (status, summary(lines)["failed"]) == (1, [seed])
    assert any(line.strip().startswith(("lost:", "stuck:")) for line in lines)


@pytest.mark.parametrize("seed", FINDERS.values())
def test_seed_that_finds_a_bug_passes_without_it(seed: int) -> None:
    status, lines = play("--from", seed, "--seeds", 1, "--jobs", 1)
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)


@pytest.mark.parametrize(("script", "leaders"), [("power-of-all", 100), ("fast-fail-over", 300)])
def test_scripted_faults_break_no_promise(script: str, leaders: int) -> None:  # H2, KIP-101; H3, KIP-279
    """Seed 30 of the second found a broker that stayed fenced for ever."""
    status, lines = play("--script", script, "--seeds", SCRIPTED_SEEDS)
    assert (status, summary(lines)["failed"]) == (0, []), "\n".join(lines)
    assert summary(lines)["leaders"] >= leaders


@pytest.mark.parametrize("script", SCRIPT_FINDERS)
def test_scripted_faults_find_what_is_planted(script: str) -> None:  # H2, H3
    seed = SCRIPT_FINDERS[script]
    given = ["--script", script, "--planted", "fetch-without-epoch", "--from", seed, "--seeds", 1, "--jobs", 1]
    status, lines = play(*given)
    assert (status, summary(lines)["failed"]) == (1, [seed])
    assert any(line.strip().startswith(("divergent:", "lost:", "stuck:")) for line in lines)


def test_same_seed_is_the_same_run() -> None:
    """Whatever the process, its hashes and what it played before."""
    first = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="1")
    again = play("--from", 7, "--seeds", 3, "--jobs", 1, "--trace", "--digests", hash_seed="2")
    alone = play("--from", 9, "--seeds", 1, "--jobs", 1, "--trace", "--digests", hash_seed="3")
    assert first[1][:-2] == again[1][:-2]
    assert alone[1][:-2] == first[1][-2 - len(alone[1][:-2]) : -2]
    assert len(alone[1]) > LEAST_SEEDS
