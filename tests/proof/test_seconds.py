"""The seconds of a run: what processes used, and what is said of them beside the budget."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proof import budget
from proof.seconds import cpu_s

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"


def test_cpu_of_children_counts_while_they_live_and_when_they_have_ended() -> None:
    before = cpu_s(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", f"{BURN}print(flush=True)\ninput()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        living = cpu_s(os.getpid()) - before
        child.communicate(b"\n")
    ended = cpu_s(os.getpid()) - before
    assert living >= 0.25
    assert ended >= living


def test_folder_over_its_budget_is_named_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "BUDGET", tmp_path / "budget.toml")
    budget.BUDGET.write_text('[seconds]\n"unit" = [10, 20]\n"wire" = [10, 20]\n')
    seconds = tmp_path / "seconds"
    seconds.write_text(
        "".join(map(budget.as_line, [("unit/a.py", 6, 3, 2), ("unit/b.py", 5, 3, 1), ("wire/c.py", 9, 19, 1)]))
    )
    lines = budget.lines(seconds)
    assert lines[-1] == "over its budget: unit, CPU 11 of 10 s, wall 6 of 20 s"
    assert [line for line in lines if "over" in line] == lines[-1:]
