"""A plugin of pytest that measures the CPU and the wall seconds of each folder of tests.

A process of tests (a worker of pytest-xdist, or pytest itself) reads the CPU time of itself and of all processes below
it, those that have ended included, when it begins and when it ends a file. What a broker of the whole session uses
while a file runs is that file's. The process that prints writes the sums as a line of JSON to the file that
``KAFKASTORE_SECONDS`` names.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proof import budget, timed

TICKS = os.sysconf("SC_CLK_TCK")
TESTS = Path(__file__).resolve().parents[1]


def cpu_s(root: int) -> float:
    """CPU seconds of ``root`` and of its living descendants, with those of the children that each has waited for."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(entry.name)] = int(fields[1])
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: proc(5)
    children: dict[int, list[int]] = defaultdict(list)
    for pid, parent in parents.items():
        children[parent].append(pid)
    total, pending = 0, [root]
    while pending:
        pid = pending.pop()
        total += ticks.get(pid, 0)
        pending += children[pid]
    return total / TICKS


@dataclass
class Seconds:
    cpu: float = 0.0
    wall: float = 0.0
    tests: int = 0


@dataclass
class Meter:
    """Of one process: seconds by file of tests, as a path below ``tests``."""

    by_file: dict[str, Seconds] = field(default_factory=lambda: defaultdict(Seconds))
    file: str = ""
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def begin(self, file: str) -> None:
        self.file, self.cpu_s, self.wall_s = file, cpu_s(os.getpid()), time.monotonic()

    def end(self) -> None:
        found = self.by_file[self.file]
        found.cpu += max(0.0, cpu_s(os.getpid()) - self.cpu_s)
        found.wall += time.monotonic() - self.wall_s

    def rows(self) -> list[tuple[str, float, float, int]]:
        return [(file, found.cpu, found.wall, found.tests) for file, found in self.by_file.items()]


METER = pytest.StashKey[Meter]()
ROWS = pytest.StashKey[list[tuple[str, float, float, int]]]()


def _file(item: pytest.Item) -> str:
    return os.path.relpath(item.path, TESTS)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    meter = item.config.stash.setdefault(METER, Meter())
    file = _file(item)
    if meter.file != file:
        meter.begin(file)
    yield
    meter.by_file[file].tests += 1
    if nextitem is None or _file(nextitem) != file:
        meter.end()
        meter.file = ""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash.setdefault(ROWS, []).extend(getattr(node, "workeroutput", {}).get("seconds", []))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    rows = config.stash[METER].rows() if METER in config.stash else []
    if hasattr(config, "workeroutput"):
        config.workeroutput["seconds"] = rows
    else:
        config.stash.setdefault(ROWS, []).extend(rows)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    target = os.environ.get(timed.VARIABLE)
    if target and not hasattr(config, "workeroutput"):
        with Path(target).open("a") as sink:
            sink.writelines(budget.as_line(row) for row in config.stash.get(ROWS, []))
