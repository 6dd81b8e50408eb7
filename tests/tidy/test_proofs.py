"""The pages that name the tests which prove something have a row for each of their numbers:
``docs/internals/requirements.md`` what the system does, ``docs/internals/scenarios.md`` how data was lost elsewhere."""

from __future__ import annotations

import re

from cluster.faults.scenarios import SCENARIOS
from tidy.sources import ROOT, report

PAGE = ROOT / "docs" / "internals" / "scenarios.md"
IDS = [f"H{number}" for number in range(1, 31)]
NOT_YET = {"H30"}
REQUIREMENTS = ROOT / "docs" / "internals" / "requirements.md"
BEHAVIOURS = [f"R{part}.{number}" for part, last in enumerate((15, 12, 8, 7, 8, 4)) for number in range(1, last + 1)]
FILE = re.compile(r"`((?:tests|rust)/[\w./-]+)(?:::\w+)?`")


def rows(text: str, letter: str) -> dict[str, list[str]]:
    """The rows of a page's tables that begin with a number, by it."""
    lines = (line for line in text.splitlines() if re.match(rf"\| {letter}\d", line))
    return {cells[0]: cells for line in lines if (cells := [cell.strip() for cell in line.strip("|").split("|")])}


ROWS = rows(PAGE.read_text(), "H")


def test_there_is_a_row_for_each_number_in_order() -> None:
    """Nor does a row of a requirement go without a test; ``test_maps`` looks for what it names."""
    assert list(ROWS) == IDS
    requirements = rows(REQUIREMENTS.read_text(), "R")
    assert list(requirements) == BEHAVIOURS
    report(
        f"docs/internals/requirements.md: {name} names no test"
        for name in BEHAVIOURS
        if not FILE.search(requirements[name][2])
    )


def test_every_file_of_a_row_names_its_scenario() -> None:
    for scenario in IDS:
        if scenario in NOT_YET:
            assert ROWS[scenario][2].startswith("not yet")
        else:
            assert FILE.findall(ROWS[scenario][2]), f"the row of {scenario} names no file"
    report(
        f"docs/scenarios.md: {scenario}: {name} does not name {scenario}"
        for scenario, cells in ROWS.items()
        if scenario not in NOT_YET
        for name in FILE.findall(cells[2])
        if not re.search(rf"\b{scenario}\b", (ROOT / name).read_text())
    )


def test_faults_and_scripts_of_a_row_exist() -> None:
    scripts = (ROOT / "tests" / "simulator" / "scripts.py").read_text()
    named = [
        (scenario, kind, name)
        for scenario, cells in ROWS.items()
        for kind, names in re.findall(r"\b(fault|script)s? ((?:`[a-z-]+`(?:, )?)+)", cells[2])
        for name in re.findall(r"`([a-z-]+)`", names)
    ]
    assert len(named) > len(IDS) / 2
    report(
        f"docs/scenarios.md: {scenario}: there is no {kind} {name}"
        for scenario, kind, name in named
        if not (name in SCENARIOS if kind == "fault" else f'"{name}": Script' in scripts)
    )


def test_every_fault_that_plays_a_scenario_is_on_the_page() -> None:
    """Not those that belong to the matrix of faults alone."""
    told = set(re.findall(r"`([a-z-]+)`", PAGE.read_text()))
    others = {
        "leader-killed", "all-killed", "leader-stopped", "leader-without-store", "two-brokers-apart",
        "controller-apart",
    }  # fmt: skip
    assert SCENARIOS.keys() - told == others
