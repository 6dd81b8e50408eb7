"""Small runs of ``python -m cluster.message_copies``: Kafka's own program copies each record exactly once while brokers
or copiers are killed (H13).

`make test` plays the two cases that leave most behind: brokers of three that are killed, and copiers that are. In the
others processes are stopped, which leaves less, or partitions move, which ``test_reassignment.py`` plays; `make proof`
plays all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cluster.message_copies import BOUNCES, CASES, GROUP_CASES, Case, Run
from proof.scope import played

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = 3_000
PART = [Case("hard", "brokers", "three", "still"), Case("hard", "clients", "one", "still")]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", played(PART, CASES + GROUP_CASES), ids=lambda case: case.name)
def test_records_are_copied_exactly_once_while_processes_are_killed(tmp_path: Path, case: Case) -> None:
    outcome = Run(case, tmp_path, RECORDS, turn=1).play()
    assert not outcome.broken, outcome.figures()
    assert (outcome.copies, outcome.duplicates, outcome.bounces) == (RECORDS, 0, BOUNCES)
    assert outcome.bounced_midway > 0, outcome.figures()
