"""A few rounds of ``python -m cluster.bounces``: idempotent producers survive the end and the return of all brokers.

Before producer snapshots held a producer's last five batches, librdkafka died in the second round and Kafka's client
wrote records twice.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cluster.bounces import ROUNDS, run
from proof.scope import played

COUNT = played(2, 4 * len(ROUNDS))
"""In `make test` all brokers stop, and all are killed; the other rounds have both in another order, one broker after
the other."""


@pytest.mark.timeout(played(120, 900))
def test_idempotent_producers_survive_rounds_of_stops_and_kills_of_all_brokers(tmp_path: Path) -> None:
    seed = random.randrange(1000)
    outcome = run(tmp_path, COUNT, seed)
    assert not outcome.broken, f"seed {seed}: {outcome.broken[:5]}"
    assert outcome.rounds == COUNT
    assert outcome.acked > 200 * COUNT
