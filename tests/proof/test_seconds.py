"""The seconds of a run: what processes used, and what is said of them beside the budget."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from proof import budget
from proof.phases import Outcome, _of_cargo, _of_pytest
from proof.seconds import cpu_s

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

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


def test_outcome_of_cargo_is_the_sum_over_its_programs() -> None:
    line = "test result: ok. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    assert _of_cargo(line.format(3, 0, 1) + line.format(4, 2, 0), 101) == Outcome(7, 2, 1, 101)


def test_run_of_pytest_that_left_no_report_has_failed(tmp_path: Path) -> None:
    assert _of_pytest(tmp_path / "none.xml", 0).status == 1
