"""Two small cases of ``python -m cluster.message_copies``: Kafka's own program copies each record exactly once while
brokers or copiers are killed (H13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cluster.message_copies import BOUNCES, Case, Run

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = 3_000


@pytest.mark.parametrize(
    "case",
    [Case("hard", "brokers", "three", "still"), Case("hard", "clients", "one", "still")],
    ids=lambda case: case.name,
)
def test_records_are_copied_exactly_once_while_processes_are_killed(tmp_path: Path, case: Case) -> None:
    outcome = Run(case, tmp_path, RECORDS, turn=1).play()
    assert not outcome.broken, outcome.figures()
    assert (outcome.copies, outcome.duplicates, outcome.bounces) == (RECORDS, 0, BOUNCES)
    assert outcome.bounced_midway > 0, outcome.figures()
