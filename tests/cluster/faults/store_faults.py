"""A metadata store that is away: leaders go on serving, no broker changes metadata, and the cluster works soon after
the store is back (H28)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cluster.faults.process_faults import SESSION_S
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from cluster.faults.trial import Trial

AWAY_S = 2 * SESSION_S
RECOVERY_LIMIT_S = SESSION_S + 5


def store_is_away(trial: Trial) -> None:
    """ZooKeeper is killed, or the SQLite file is moved away, for two sessions."""
    cluster = trial.cluster
    before = _leaders(trial)
    at = time.monotonic()
    _take_away(trial)
    created = cluster.can_create(f"{trial.topic}-meanwhile", cluster.brokers, AWAY_S - 1)
    trial.expect(not created, "a topic was created while the store was away")
    wait_until(lambda: time.monotonic() > at + AWAY_S, AWAY_S + 1, "the store is away for two sessions")
    trial.expect(_leaders(trial) == before, "leaders or in-sync sets changed while the store was away")
    trial.goes_on(at, "while the store was away")
    _bring_back(trial)
    back = time.monotonic()
    created = cluster.can_create(f"{trial.topic}-after", cluster.brokers, RECOVERY_LIMIT_S)
    trial.outcome.resumed_after_s = time.monotonic() - back
    trial.expect(created, f"no topic could be created within {RECOVERY_LIMIT_S:g} s after the store was back")
    trial.attempt("all brokers are there", lambda: cluster.wait_for_brokers(3))
    gap = trial.writer.longest_gap(back, time.monotonic())
    trial.expect(gap <= RECOVERY_LIMIT_S, f"nothing was acknowledged for {gap:.2f} s after the store was back")


def _leaders(trial: Trial) -> list[object]:
    """The leaders and in-sync sets of the topic in each broker's metadata."""
    found: list[object] = []
    for broker in trial.cluster.brokers:
        partitions = trial.cluster.admin_at(broker).list_topics(trial.topic, timeout=10).topics[trial.topic].partitions
        found.append({number: (one.leader, sorted(one.isrs)) for number, one in partitions.items()})
    return found


def _take_away(trial: Trial) -> None:
    cluster = trial.cluster
    if cluster.zookeeper is not None:
        cluster.zookeeper.kill()
    else:
        cluster.metadata_path.rename(cluster.metadata_path.with_suffix(".away"))


def _bring_back(trial: Trial) -> None:
    cluster = trial.cluster
    if cluster.zookeeper is not None:
        cluster.zookeeper.start()
    else:
        cluster.metadata_path.with_suffix(".away").rename(cluster.metadata_path)
