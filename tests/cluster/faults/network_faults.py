"""Brokers that cannot reach each other or the store, while clients reach all of them (H5)."""

from __future__ import annotations

import time

from cluster.faults.faulty_cluster import STORE, host
from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.trial import ALL, Trial
from peer.broker_process import wait_until

LASTS_S = 2 * SESSION_S
LAG_LIMIT_S = 10.0
"""replica.lag.time.max.ms of these clusters."""


def leader_is_cut_off(trial: Trial) -> None:
    """The leader is cut off from the other brokers and from the store, both ways: it still takes itself for the leader,
    and must not acknowledge anything."""
    leader = trial.leader()
    _cut(trial, leader, _all_links(trial, leader))


def is_cut_off(trial: Trial, node: int) -> None:
    """This broker is cut off in the same way, whatever it leads."""
    at = _cut_now(trial, _all_links(trial, node))
    trial.resumes(ALL, at, RESUME_LIMIT_S)
    _heal(trial, at)


def leader_is_not_heard(trial: Trial) -> None:
    """One way: packets from the leader to brokers and store are lost, packets from them arrive."""
    leader = trial.leader()
    _cut(trial, leader, [(host(leader), other) for other in _others(trial, leader)])


def leader_is_deaf(trial: Trial) -> None:
    """The other way: packets from brokers and store to the leader are lost, packets from it arrive."""
    leader = trial.leader()
    _cut(trial, leader, [(other, host(leader)) for other in _others(trial, leader)])


def leader_loses_the_store(trial: Trial) -> None:
    """The leader's session ends, and another broker leads; the followers that still reach the old leader do not follow
    it any more."""
    leader = trial.leader()
    _cut(trial, leader, [(host(leader), STORE), (STORE, host(leader))])


def brokers_lose_each_other(trial: Trial) -> None:
    """Two brokers cannot reach each other; both reach the store and the controller, which is the third: in-sync sets
    shrink, no leader is replaced, and producing goes on."""
    one, other = trial.cluster.others(trial.cluster.controller())
    at = _cut_now(trial, [(host(one), host(other)), (host(other), host(one))])
    trial.resumes(ALL, at, LAG_LIMIT_S + 4)
    _heal(trial, at)


def broker_loses_the_controller(trial: Trial) -> None:
    """A broker and the controller cannot reach each other. Both reach the store, so no leader is replaced, but the
    in-sync sets of the partitions that the broker leads cannot change: partitions that the controller's broker follows
    there stand still during the cut, and go on when it is healed."""
    cluster = trial.cluster
    controller = cluster.controller()
    broker = cluster.others(controller)[trial.number % 2]
    at = _cut_now(trial, [(host(controller), host(broker)), (host(broker), host(controller))])
    wait_until(lambda: time.monotonic() > at + LASTS_S, LASTS_S + 1, "the cut lasts two sessions")
    trial.cluster.network.heal()
    trial.resumes(ALL, time.monotonic(), RESUME_LIMIT_S)


def _others(trial: Trial, leader: int) -> list[str]:
    return [host(node) for node in trial.cluster.others(leader)] + [STORE]


def _all_links(trial: Trial, node: int) -> list[tuple[str, str]]:
    """Both ways, between this broker and all that it depends on."""
    hosts = _others(trial, node)
    return [(host(node), other) for other in hosts] + [(other, host(node)) for other in hosts]


def _cut(trial: Trial, leader: int, pairs: list[tuple[str, str]]) -> None:
    faithful = trial.faithful_writer(leader)
    at = _cut_now(trial, pairs)
    faithful.send()
    trial.resumes(ALL, at, RESUME_LIMIT_S)
    faithful.send()
    _heal(trial, at)
    trial.outcome.resumed_after_s = gap = trial.writer.longest_gap(at, time.monotonic())
    trial.expect(gap <= RESUME_LIMIT_S, f"nothing was acknowledged for {gap:.1f} s, which may be {RESUME_LIMIT_S:g} s")


def _cut_now(trial: Trial, pairs: list[tuple[str, str]]) -> float:
    for source, target in pairs:
        trial.cluster.network.cut(source, target)
    return time.monotonic()


def _heal(trial: Trial, at: float) -> None:
    """Heals the cut after two sessions, in which the broker that was cut off can do all its harm."""
    wait_until(lambda: time.monotonic() > at + LASTS_S, LASTS_S + 1, "the cut lasts two sessions")
    trial.cluster.network.heal()
    trial.wait_for_acks(1000)
