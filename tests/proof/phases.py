"""The phases of `make test`, one after the other, all of them whatever fails: cargo's tests, the tests of pytest that
compute, those that wait for brokers, clients and timeouts.

Temporary folders are on a tmpfs where one has room (`scratch`): an fsync costs nothing there, and no test is about the
speed of a disk.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from proof import budget, timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent

UNIT = ("unit", "history", "tidy", "proof")
"""Folders whose tests take milliseconds; those of ``unit`` put a double of the data plane into their process."""

COMPUTING = ("simulator", "spark", "scan", "parity")
"""Folders whose tests use a core each, but for JVMs that start: three workers, the longest files first."""

WAITING = ("clients", "cluster", "crash", "metadata", "interop", "wire")
"""Folders whose tests wait for other processes most of the time: four workers."""

CARGO = ("cargo", "test", "--locked", "--quiet", "--no-fail-fast", "--all-features")
"""Without the benches, which `make proof` runs; the same features as the build has."""

TMPFS = Path("/dev/shm")
TMPFS_BYTES = 6 << 30
"""Free bytes below which the ordinary temporary folder is used."""


@dataclass(frozen=True)
class Phase:
    name: str
    command: Sequence[str]
    folders: Sequence[str] = ()
    """Of pytest's: what it collects, below ``tests``."""


@dataclass(frozen=True)
class Outcome:
    passed: int
    failed: int
    skipped: int
    status: int


def pytest_command(folders: Sequence[str], workers: int, arguments: Sequence[str]) -> list[str]:
    chosen = [f"tests/{folder}" for folder in folders]
    spread = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder"]
    return [sys.executable, "-m", "pytest", *chosen, "-q", "-p", "no:cacheprovider", *spread, *arguments]


def phases(arguments: Sequence[str]) -> list[Phase]:
    """``arguments`` go to pytest."""
    return [
        Phase("rust", CARGO),
        Phase("unit", pytest_command(UNIT, 3, arguments), UNIT),
        Phase("computing", pytest_command(COMPUTING, 3, arguments), COMPUTING),
        Phase("waiting", pytest_command(WAITING, 4, arguments), WAITING),
    ]


@contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder, on a tmpfs where one has room; gone at the end."""
    has_room = TMPFS.is_dir() and os.access(TMPFS, os.W_OK) and shutil.disk_usage(TMPFS).free >= TMPFS_BYTES
    folder = Path(tempfile.mkdtemp(prefix="kafkastore-tests-", dir=TMPFS if has_room else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _of_cargo(output: str, status: int) -> Outcome:
    counts = [tuple(map(int, row)) for row in re.findall(r"(\d+) passed; (\d+) failed; (\d+) ignored", output)]
    passed, failed, skipped = (sum(row[at] for row in counts) for at in range(3))
    return Outcome(passed, failed, skipped, status)


def _of_pytest(report: Path, status: int) -> Outcome:
    if not report.exists():
        return Outcome(0, 0, 0, status or 1)
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    tests, failed, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    return Outcome(tests - failed - errors - skipped, failed + errors, skipped, status)


def run(phase: Phase, folder: Path, environment: dict[str, str]) -> Outcome:
    """Runs one phase; what it prints is printed."""
    print(f"== {phase.name}", flush=True)
    if phase.folders:
        report = folder / f"{phase.name}.xml"
        done = subprocess.run([*phase.command, f"--junitxml={report}"], cwd=ROOT, env=environment, check=False)
        return _of_pytest(report, done.returncode)
    begin, used = time.monotonic(), timed.cpu_s_of_children()
    lines = []
    with subprocess.Popen(
        phase.command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    outcome = _of_cargo("".join(lines), process.returncode)
    row = (phase.name, timed.cpu_s_of_children() - used, time.monotonic() - begin, outcome.passed + outcome.failed)
    with Path(environment[timed.VARIABLE]).open("a") as sink:
        sink.write(budget.as_line(row))
    return outcome


def main(arguments: Sequence[str]) -> int:
    """All phases, then the seconds beside their budget and the sums; 1 when anything failed."""
    with scratch() as folder:
        environment = {timed.VARIABLE: str(folder / "seconds.jsonl"), **os.environ, "TMPDIR": str(folder)}
        outcomes = [(phase, run(phase, folder, environment)) for phase in phases(arguments)]
        print(*budget.lines(Path(environment[timed.VARIABLE])), sep="\n")
    failing = [phase.name for phase, outcome in outcomes if outcome.status]
    if failing:
        print("failed:", *failing)
    sums = [sum(getattr(outcome, key) for _, outcome in outcomes) for key in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*sums), flush=True)
    return 1 if failing else 0
