"""One run of ``python -m cluster.growth``: partitions are added to the coordinators' topics under load, the brokers
restart one by one, and every group and every transactional id goes on.

What one broker does when partitions are added is ``clients/test_growing_coordinators.py``. Here brokers that have
restarted place keys differently from those that have not, so that for a while two brokers coordinate one key.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.growth import LIMIT_S, Run
from cluster.stores import ON_SQLITE
from proof.seeds import first_seed

BROKERS = 3


@pytest.mark.proof
@pytest.mark.timeout(6 * LIMIT_S)  # some 15 s, unless something stands still
@pytest.mark.parametrize("store", ON_SQLITE)
def test_groups_and_transactional_ids_go_on_when_coordinators_topics_grow_and_brokers_restart(
    tmp_path: Path, store: str
) -> None:
    seed = first_seed()
    outcome = Run(tmp_path, seed, store).play()
    assert not outcome.broken, f"seed {seed}: {outcome.broken[:5]}"
    assert len(outcome.restarts) == BROKERS
    assert outcome.rewinds > 0, "no group has moved"
    assert outcome.records > 0
