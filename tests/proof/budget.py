"""CPU and wall seconds of each folder of tests beside its budget (``budget.toml``), as a table, and what is over it.

A folder over its budget fails no run: machines differ, and a test that fails for its time tells nothing about the code.
Whoever adds a test sees in the last lines what it costs.
"""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from pathlib import Path

BUDGET = Path(__file__).with_name("budget.toml")
WORST = 8
"""Files that the table names one by one."""


def measured(path: Path) -> dict[str, list[float]]:
    """Of each folder or build step: CPU seconds, wall seconds (of all workers together), tests."""
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0])
    for name, *figures in read(path):
        for at, figure in enumerate(figures):
            sums[name.partition("/")[0]][at] += figure
    return sums


def read(path: Path) -> list[tuple[str, float, float, int]]:
    """A folder's name, or a file's below ``tests``; CPU seconds, wall seconds, tests."""
    if not path.exists():
        return []
    return [tuple(json.loads(line)) for line in path.read_text().splitlines()]


def as_line(row: tuple[str, float, float, int]) -> str:
    """What `read` reads."""
    return json.dumps(row) + "\n"


def lines(path: Path) -> list[str]:
    """The table, the files that use most CPU, and a sentence for each folder that is over its budget."""
    budget: dict[str, list[float]] = tomllib.loads(BUDGET.read_text())["seconds"]
    found = measured(path)
    shown = [f"{'':24}{'tests':>8}{'CPU s':>8}{'budget':>8}{'wall s':>8}{'budget':>8}"]
    over = []
    for name, (cpu, wall, tests) in sorted(found.items(), key=lambda row: -row[1][0]):
        cpu_budget, wall_budget = budget.get(name, [0, 0])
        shown.append(f"{name:24}{tests or '':>8}{cpu:8.0f}{cpu_budget:8.0f}{wall:8.0f}{wall_budget:8.0f}")
        if cpu > cpu_budget or wall > wall_budget:
            over.append(
                f"over its budget: {name}, CPU {cpu:.0f} of {cpu_budget:.0f} s, wall {wall:.0f} of {wall_budget:.0f} s"
            )
    cpu, wall, tests = (sum(row[at] for row in found.values()) for at in range(3))
    shown.append(f"{'all':24}{tests:8.0f}{cpu:8.0f}{sum(row[0] for row in budget.values()):8.0f}{wall:8.0f}")
    dear = sorted((row for row in read(path) if "/" in row[0]), key=lambda row: -row[1])[:WORST]
    shown += [f"  {file} {cpu:.0f} CPU s, {wall:.0f} s" for file, cpu, wall, _ in dear]
    return shown + over
