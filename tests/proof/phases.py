"""The phases of `make test`, in two lanes beside each other, all of them whatever fails: what computes (cargo's tests,
then tests of pytest that use a core each), and what waits for brokers, clients and timeouts.

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
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from proof import budget, timed

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent

UNIT = ("unit", "history", "tidy", "proof")
"""Folders whose tests take milliseconds; those of ``unit`` have a data plane without threads in their process."""

COMPUTING = ("simulator", "spark", "scan", "parity")
"""Folders whose tests use a core each, but for JVMs that start; the longest files first."""

WAITING = ("clients", "cluster", "crash", "metadata", "interop", "wire", "testing", "tools")
"""Folders whose tests wait for other processes most of the time."""

COMPUTING_WORKERS = 2
WAITING_WORKERS = 4

CARGO = ("cargo", "test", "--locked", "--quiet", "--no-fail-fast", "--workspace", "--all-features")
"""Without the benches, which `make proof` runs; the same features as the build has."""

CARGO_VARIABLES = {"PYO3_NO_PYTHON": "1"}
"""The build has it too: pyo3 looks for no interpreter, so another PATH compiles nothing again."""

NO_TESTS_COLLECTED = 5
"""pytest's status."""

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


def lanes(arguments: Sequence[str]) -> list[list[Phase]]:
    """Run beside each other, the phases of each in their order; ``arguments`` go to pytest. What the first prints is
    seen at once, what the second prints when a phase has ended.
    """
    return [
        [Phase("rust", CARGO), Phase("computing", pytest_command(COMPUTING, COMPUTING_WORKERS, arguments), COMPUTING)],
        [
            Phase("waiting", pytest_command(WAITING, WAITING_WORKERS, arguments), WAITING),
            Phase("unit", pytest_command(UNIT, COMPUTING_WORKERS, arguments), UNIT),
        ],
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
    is_refused = skipped > 0 and "CI" in os.environ  # as conftest.py refuses what pytest skips
    return Outcome(passed, failed, skipped, status or int(is_refused))


def _of_pytest(report: Path, status: int) -> Outcome:
    if not report.exists():
        return Outcome(0, 0, 0, status or 1)
    suites = list(ET.parse(report).getroot().iter("testsuite"))
    tests, failed, errors, skipped = (
        sum(int(suite.get(key, 0)) for suite in suites) for key in ("tests", "failures", "errors", "skipped")
    )
    return Outcome(tests - failed - errors - skipped, failed + errors, skipped, status)


def _run_pytest(phase: Phase, folder: Path, environment: dict[str, str], sink: TextIO | None) -> Outcome:
    report = folder / f"{phase.name}.xml"
    command = [*phase.command, f"--junitxml={report}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=sink, stderr=sink, check=False)
    return _of_pytest(report, done.returncode)


def _run_cargo(phase: Phase, environment: dict[str, str]) -> Outcome:
    begin, lines = time.monotonic(), []
    process = subprocess.Popen(
        phase.command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    outcome = _of_cargo("".join(lines), process.returncode)
    row = (phase.name, used.ru_utime + used.ru_stime, time.monotonic() - begin, outcome.passed + outcome.failed)
    with Path(environment[timed.VARIABLE]).open("a") as seconds:
        seconds.write(budget.as_line(row))
    return outcome


def _run_lane(lane: Sequence[Phase], folder: Path, environment: dict[str, str], *, at_once: bool) -> list[Outcome]:
    outcomes = []
    for phase in lane:
        if at_once:
            print(f"== {phase.name}", flush=True)
            run = _run_pytest(phase, folder, environment, None) if phase.folders else _run_cargo(phase, environment)
        else:
            with (folder / f"{phase.name}.log").open("w+", errors="replace") as log:
                run = _run_pytest(phase, folder, environment, log)
                log.seek(0)
                print(f"== {phase.name}\n{log.read()}", end="", flush=True)
        outcomes.append(run)
    return outcomes


def main(arguments: Sequence[str]) -> int:
    """All phases, then the seconds beside their budget and the sums; 1 when anything failed."""
    chosen = lanes(arguments)
    with scratch() as folder, ThreadPoolExecutor(len(chosen)) as threads:
        environment = {timed.VARIABLE: str(folder / "seconds.jsonl"), **os.environ, "TMPDIR": str(folder)}
        runs = [threads.submit(_run_lane, lane, folder, environment, at_once=not at) for at, lane in enumerate(chosen)]
        outcomes = [outcome for each in runs for outcome in each.result()]
        print(*budget.lines(Path(environment[timed.VARIABLE])), sep="\n")
    phases = [phase for lane in chosen for phase in lane]
    ran = list(zip(phases, outcomes, strict=True))
    is_found = any(one.passed for phase, one in ran if phase.folders)
    has_none = [NO_TESTS_COLLECTED] if arguments and is_found else []  # "-k one_test"
    failing = [phase.name for phase, one in ran if one.status not in (0, *has_none)]
    if failing:
        print("failed:", *failing)
    sums = [sum(getattr(outcome, key) for outcome in outcomes) for key in ("passed", "failed", "skipped")]
    print("{} passed, {} failed, {} skipped".format(*sums), flush=True)
    return 1 if failing else 0
