"""Small runs of ``python -m cluster.message_copies``: Kafka's own program copies each record exactly once while brokers
or copiers are killed (H13).

`make test` plays the case that leaves most behind: brokers of three that are killed. In the others they are stopped,
which leaves less; or copiers die, as producers do in ``clients/test_transactions.py``; or partitions move, as in
``test_reassignment.py``. `make proof` plays all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.message_copies import BOUNCES, CASES, GROUP_CASES, Case, Run
from proof.scope import played

RECORDS = 3_000
PART = [Case("hard", "brokers", "three", "still")]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("case", played(PART, CASES + GROUP_CASES), ids=lambda case: case.name)
def test_records_are_copied_exactly_once_while_processes_are_killed(tmp_path: Path, case: Case) -> None:
    outcome = Run(case, tmp_path, RECORDS, turn=1).play()
    assert not outcome.broken, outcome.figures()
    assert (outcome.copies, outcome.duplicates, outcome.bounces) == (RECORDS, 0, BOUNCES)
    assert outcome.bounced_midway > 0, outcome.figures()
