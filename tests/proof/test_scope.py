"""The parts are parts: `make test` plays no test that `make proof` does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proof.scope import VARIABLE

TESTS = Path(__file__).resolve().parents[1]


def ids(scope: str) -> set[str]:
    command = [sys.executable, "-m", "pytest", str(TESTS), "--collect-only", "--quiet", "-p", "no:cacheprovider"]
    done = subprocess.run(
        command, cwd=TESTS.parent, env={**os.environ, VARIABLE: scope}, capture_output=True, text=True, check=True
    )
    return {line for line in done.stdout.splitlines() if "::" in line}


@pytest.mark.proof
@pytest.mark.timeout(600)
def test_tests_of_the_part_are_among_those_of_the_whole() -> None:
    part, whole = ids(""), ids("whole")
    assert part < whole
