"""Scenarios of `docs/internals/scenarios.md` that need their faults in a certain order; everything else is drawn from
the seed as ever.

A script gives the faults in place of ``faults.draw``, the topic's own configuration, and which rules its faults may
break: a power loss of everybody takes along what nobody had synced. It says nothing about what becomes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.faults import FAULTS_FROM_S, FAULTS_TO_S, Fault, draw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    Draw = Callable[[Random, tuple[int, ...]], list[Fault]]

FAIL_OVERS = 12
FAIL_OVER_S = 0.25
"""From one to the next: A, B, A and C lead within a second."""

LATE_TIMES = 4

COORDINATORS = 5
"""How often something happens to one, or to a leader."""

CLEANED_FAULTS = 6

ALONE_FROM_S = (1.0, 3.2)

POWER_LOSSES_S = (1.3, 3.6)

BACK_AFTER_S = (0.02, 2.2)
"""Longer than a session apart, so that one leads before another is there."""


class Script(NamedTuple):
    """See the module."""

    draw: Draw
    configs: Mapping[str, str] = {}
    breaks: frozenset[str] = frozenset()
    """Names of rules (``history/checker.py``)."""
    has_operations: bool = False
    """Whether topics move, grow, go and come (``operations.py``)."""
    late: float = 0.0
    """The part of all requests that comes when its sender has given up, as long as the clients work."""
    transactions: float = 0.0
    """The part of the seeds that have transactions."""
    compaction: float = 0.0
    """The part of the seeds that have a compacted topic."""
    is_back_soon: bool = False
    """Whether what was moved is moved back at once."""


def _power_of_all(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """Everybody loses power at one moment, each with another part of its log unsynced, and comes back in any order.
    Whoever is back first leads and goes on; the others find their tails written over."""
    return [
        Fault("power of all", begins_s, random.uniform(*BACK_AFTER_S), node_id, node_id)
        for begins_s in POWER_LOSSES_S
        for node_id in node_ids
    ]


def _fast_fail_over(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """The leader is fenced or killed, and the next one, and the next, while each is written to."""
    found = []
    for number in range(FAIL_OVERS):
        begins_s = FAULTS_FROM_S + (number + random.random()) * FAIL_OVER_S
        kind = random.choice(("fence leader", "fence leader", "fence leader", "kill leader"))
        target = random.choice(node_ids)
        found.append(Fault(kind, begins_s, random.uniform(0.01, 0.1), target, target))
    return found


def _late(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """All the time requests come seconds after their sender gave up, while leaders are fenced, brokers die and are back
    at once, and replicas go and come back: what was meant for one epoch, or one life, meets the next."""
    found = []
    for _ in range(LATE_TIMES):
        kind = random.choice(("fence", "fence leader", "power", "kill", "power leader", "stop controller", "cut"))
        lasts_s = random.choice((0.02, 0.1, 0.5)) * random.uniform(0.5, 1.5)
        begins_s = random.uniform(FAULTS_FROM_S, FAULTS_TO_S)
        found.append(Fault(kind, begins_s, lasts_s, *random.sample(node_ids, 2)))
    return sorted(found, key=lambda fault: fault.begins_s)


def _transactions(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """Coordinators die, hang, are cut off or are fenced though they live, and leaders now and then, while requests come
    late."""
    found = []
    for number in range(COORDINATORS):
        begins_s = FAULTS_FROM_S + (number + random.random()) * (FAULTS_TO_S - FAULTS_FROM_S) / COORDINATORS
        kind = random.choice(("fence", "kill", "stop", "isolate", "power", "fence"))
        where = random.choice(("coordinator", "coordinator", "group coordinator", "leader"))
        lasts_s = random.choice((0.05, 0.3, 1.2)) * random.uniform(0.5, 1.5)
        found.append(Fault(f"{kind} {where}", begins_s, lasts_s, *random.sample(node_ids, 2)))
    return found


def _compaction(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """Brokers die in the middle of a cleaning, lose power, stop for a moment or are cut off, and leaders change."""
    found = []
    for number in range(CLEANED_FAULTS):
        begins_s = FAULTS_FROM_S + (number + random.random()) * (FAULTS_TO_S - FAULTS_FROM_S) / CLEANED_FAULTS
        kind = random.choice(
            ("kill", "power", "kill leader", "power leader", "fence leader", "stop", "isolate", "late")
        )
        lasts_s = random.choice((0.02, 0.1, 0.4, 0.8)) * random.uniform(0.5, 1.5)
        found.append(Fault(kind, begins_s, lasts_s, *random.sample(node_ids, 2)))
    return found


def _last_standing(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """All but the leader are cut off, and when it has been alone for a while it dies, as the others are heard of
    again."""
    found = []
    for begins_s in ALONE_FROM_S:
        alone_s = random.uniform(1.0, 1.7)
        found.append(Fault("isolate followers", begins_s, alone_s + random.uniform(0.0, 0.1), *node_ids[:2]))
        found.append(Fault("kill leader", begins_s + alone_s, random.uniform(0.8, 1.3), *node_ids[:2]))
    return found


LOSSES = frozenset({"lost", "moved", "changed", "went-back", "out-of-order"})
FORGOTTEN = frozenset({"out-of-order", "duplicated", "reordered"})
"""A follower that begins its log behind deleted records does not know a producer's batches among them, as in Kafka.
Sent again, since no answer came, they are out of order, and what flies behind them is taken."""

UNSYNCED = {"unclean.leader.election.enable": "true", "flush.ms": "100", "min.insync.replicas": "1"}
"""Each broker syncs at another place, and whoever is there first leads."""

SCRIPTS = {
    "power-of-all": Script(_power_of_all, UNSYNCED, LOSSES),  # H2, KIP-101 scenario 2
    "fast-fail-over": Script(_fast_fail_over),  # H3, KIP-279
    "last-standing": Script(_last_standing),  # H7, KIP-966
    "operations": Script(draw, has_operations=True, transactions=0.25),  # H16
    "late": Script(_late, has_operations=True, late=0.15, is_back_soon=True),  # H19, H20, H21, KIP-841, KIP-903
    "compaction": Script(_compaction, has_operations=True, compaction=1.0),  # KIP-534
    "transactions": Script(_transactions, late=0.1, transactions=1.0),  # H11, H12, H13, H14, KIP-890
}
