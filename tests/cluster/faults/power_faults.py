"""Disks that lose their power, and with it unsynced data (KIP-966; H7, H8, H9)."""

from __future__ import annotations

import time

from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.trial import ALL, Trial
from peer.broker_process import wait_until

SERVE_LIMIT_S = 15.0
LAST_STANDING_S = 1.0


def one_loses_power(trial: Trial) -> None:
    """The leader, a follower or the controller, in turn, loses its power. It is started at once, before its session has
    ended: it must not go on leading with a log that has lost its tail (H8)."""
    cluster = trial.cluster
    leader = trial.leader()
    loses_power(trial, [leader, cluster.others(leader)[0], cluster.controller()][trial.number % 3])


def loses_power(trial: Trial, victim: int) -> None:
    """This broker loses its power, and is started at once."""
    at = time.monotonic()
    trial.cluster.lose_power([victim])
    trial.cluster.broker(victim).start()
    trial.resumes(ALL, at, RESUME_LIMIT_S)


def all_lose_power(trial: Trial) -> None:
    """All three brokers lose their power at once, and the metadata store's file if the store is SQLite (H9)."""
    cluster = trial.cluster
    cluster.lose_power([1, 2, 3], and_store=cluster.zookeeper is None)
    at = time.monotonic()
    cluster.start_brokers()
    trial.resumes(ALL, at, SERVE_LIMIT_S)


def all_lose_power_unsynced(trial: Trial) -> None:
    """The same with Kafka's default, which relies on replication and does not sync: acknowledged records may be lost,
    but all brokers start and the replicas agree."""
    cluster = trial.cluster
    trial.allows_loss = True
    trial.stop_clients()
    at = time.monotonic()
    cluster.lose_power([1, 2, 3], and_store=cluster.zookeeper is None)
    cluster.start_brokers()
    cluster.wait_in_sync(trial.topic, 3)
    trial.outcome.resumed_after_s = time.monotonic() - at


def last_replica_standing(trial: Trial) -> None:
    """The followers die one after the other, the leader is left alone and loses its power, and all brokers come back in
    an order that differs between trials: no record was acknowledged that only the leader had (H7, KIP-966)."""
    cluster = trial.cluster
    leader = trial.leader()
    first, second = cluster.others(leader)
    cluster.broker(first).kill()
    wait_until(lambda: first not in _in_sync(trial, second), SESSION_S + 10, "the first follower is out of sync")
    trial.wait_for_acks(200)
    cluster.broker(second).kill()
    alone = time.monotonic() + SESSION_S + LAST_STANDING_S
    wait_until(lambda: time.monotonic() > alone, SESSION_S + 5, "the leader stands alone for a while")
    cluster.lose_power([leader])
    orders = [(leader, first, second), (second, leader, first), (first, second, leader), (leader, second, first)]
    at = time.monotonic()
    for node in orders[trial.number % len(orders)]:
        cluster.broker(node).start()
    trial.resumes(ALL, at, SERVE_LIMIT_S)


def _in_sync(trial: Trial, seen_by: int) -> set[int]:
    admin = trial.cluster.admin_at(trial.cluster.broker(seen_by))
    found = admin.list_topics(trial.topic, timeout=10).topics[trial.topic].partitions.values()
    return {node for partition in found for node in partition.isrs}
