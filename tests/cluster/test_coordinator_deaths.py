"""The coordinator of transactions is killed while transactions are open and while they are being ended (H13). `make
proof` kills it in all states, under requests and while ids expire; ``python -m cluster.coordinator_deaths`` more often.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from cluster import coordinator_deaths
from cluster.cluster import Cluster
from cluster.coordinator_deaths import KILLS, SETTINGS, Trials
from cluster.doomed_transactions import Ongoing, PrepareAbort, PrepareCommit
from proof.seeds import first_seed


def test_transactions_are_kept_whole_when_their_coordinator_is_killed(tmp_path: Path) -> None:
    with closing(Cluster(tmp_path, overrides=SETTINGS)) as cluster:
        trials = Trials(cluster.start())
        trials.start()
        trials.kill_in([Ongoing, PrepareCommit, PrepareAbort])
    assert {state: found["committed"] for state, found in trials.report.outcomes.items()} == {
        "Ongoing, the client ends it": 1,  # of the two versions
        "PrepareCommit": 2,
        "PrepareAbort": 0,
    }


DEATHS = 4


@pytest.mark.proof
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KILLS)
def test_transactions_are_kept_whole_when_their_coordinator_is_killed_again_and_again(kind: str) -> None:
    report = coordinator_deaths.run(kind, DEATHS, first_seed())
    assert report.kills == DEATHS
