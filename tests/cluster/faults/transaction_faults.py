"""Transactions while leaders and coordinators die, hang, are cut off and lose power (KIP-890; H11, H12, H13, H14).

The faults are those of the other scenarios, and the same for the brokers that coordinate transactions and the group.
The transactional clients start before the topic's other clients; after the fault every producer must commit again
within a minute.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cluster.faults import network_faults as network
from cluster.faults import power_faults as power
from cluster.faults import process_faults as process
from cluster.faults.coordinators import prepare_internal_topics
from cluster.faults.process_faults import RESUME_LIMIT_S, SESSION_S
from cluster.faults.transactions import RESUME_LIMIT_S as COMMIT_LIMIT_S
from cluster.faults.transactions import Transactions
from cluster.faults.trial import ALL
from peer.broker_process import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cluster.faults.trial import Trial

NEVER = (1 << 63) - 1
BROKERS = 3


# ---- before
def apart(number: int) -> Sequence[Sequence[int]]:
    """In every other trial one broker leads no partition of the topic; that one coordinates transactions."""
    nodes = [(number + nth) % BROKERS + 1 for nth in range(BROKERS)]
    leaders = nodes if number % 2 else [nodes[0], nodes[1], nodes[0]]
    return [[leader, *(node for node in nodes if node != leader)] for leader in leaders]


def start(trial: Trial) -> None:
    _start(trial, NEVER)


def start_on_disk(trial: Trial) -> None:
    """What coordinators acknowledge is on the disk of every in-sync replica."""
    _start(trial, 1)


def _start(trial: Trial, flush_messages: int) -> None:
    prepare_internal_topics(trial.cluster, flush_messages)
    numbers = trial.partitions
    leaders = {trial.cluster.leader(trial.topic, number) for number in numbers}
    idle = next((node for node in range(1, BROKERS + 1) if node not in leaders), None)
    trial.transactions = Transactions(trial.cluster, trial.topic, len(numbers), idle)
    trial.transactions.start()


def _of(trial: Trial) -> Transactions:
    assert trial.transactions is not None
    return trial.transactions


# ---- the faults
def through(fault: Callable[[Trial], None]) -> Callable[[Trial], None]:
    """The fault of another scenario, and transactions that go on after it."""

    def run(trial: Trial) -> None:
        at = time.monotonic()
        fault(trial)
        took = _of(trial).wait_until_all_commit(at)
        trial.outcome.resumed_after_s = max(took, trial.outcome.resumed_after_s or 0.0)
        trial.expect(took <= COMMIT_LIMIT_S, f"it took {took:.1f} s, not {COMMIT_LIMIT_S:g} s, until all committed")
        _of(trial).wait_until_all_commit(time.monotonic())  # when all is over, also of a broker that hung

    return run


def _coordinator_is_killed(trial: Trial) -> None:
    _kill(trial, _of(trial).coordinator())


def _group_coordinator_is_killed(trial: Trial) -> None:
    _kill(trial, _of(trial).group_coordinator())


def _kill(trial: Trial, victim: int) -> None:
    at = time.monotonic()
    trial.cluster.broker(victim).kill()
    trial.resumes(ALL, at, RESUME_LIMIT_S)


def _coordinator_is_paused(trial: Trial) -> None:
    """SIGSTOP of the coordinator past its session, then SIGCONT: another broker has taken over, and the zombie wakes
    up with requests, open transactions and markers to write."""
    zombie = _of(trial).coordinator()
    at = time.monotonic()
    trial.cluster.pause(zombie)
    trial.resumes(ALL, at, RESUME_LIMIT_S)
    wait_until(lambda: time.monotonic() > at + 2 * SESSION_S, 2 * SESSION_S + 1, "it hangs for two sessions")
    trial.cluster.go_on(zombie)
    trial.wait_for_acks(1000)


def _one_loses_power(trial: Trial) -> None:
    """The transaction coordinator, the group coordinator or the leader, in turn; it is started at once."""
    victims = [_of(trial).coordinator(), _of(trial).group_coordinator(), trial.leader()]
    power.loses_power(trial, victims[trial.number % len(victims)])


def _coordinator_is_cut_off(trial: Trial) -> None:
    network.is_cut_off(trial, _of(trial).coordinator())


leader_is_killed = through(process.leader_is_killed)
coordinator_is_killed = through(_coordinator_is_killed)
group_coordinator_is_killed = through(_group_coordinator_is_killed)
leader_is_paused = through(process.leader_is_paused)
coordinator_is_paused = through(_coordinator_is_paused)
leader_is_cut_off = through(network.leader_is_cut_off)
coordinator_is_cut_off = through(_coordinator_is_cut_off)
one_loses_power = through(_one_loses_power)
all_lose_power = through(power.all_lose_power)
all_are_killed = through(process.all_are_killed)
