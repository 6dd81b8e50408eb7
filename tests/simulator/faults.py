"""What goes wrong in a run, and when: drawn from the seed before the run begins.

Each seed takes a few kinds of faults and leaves out others, so that some runs go deep into one. A fault has a beginning
and an end; after the last one the world is whole again. Brokers die only as far as the promise goes: of each partition
a replica that is in sync or eligible lives on, unless nobody has lost anything. What is drawn otherwise is in
``scripts.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from simulator.metadata import NAME as STORE

if TYPE_CHECKING:
    from random import Random

    from simulator.world import World

FAULTS_FROM_S, FAULTS_TO_S = 0.8, 4.5


class Fault(NamedTuple):
    kind: str
    begins_s: float
    lasts_s: float
    target: int
    other: int


KINDS = (
    "kill",
    "power",
    "kill leader",
    "power leader",
    "stop",
    "stop leader",
    "stop controller",
    "kill controller",
    "isolate",
    "isolate leader",
    "cut",
    "cut one way",
    "cut from store",
    "lossy",
    "late",
    "slow",
)


def draw(random: Random, node_ids: tuple[int, ...]) -> list[Fault]:
    """In the order of their beginnings."""
    kinds = random.sample(KINDS, random.randint(2, 6))
    faults = []
    for _ in range(random.randint(2, 8)):
        target, other = random.sample(node_ids, 2)
        begins = random.uniform(FAULTS_FROM_S, FAULTS_TO_S)
        lasts = random.choice((0.02, 0.1, 0.3, 1.0, 1.5)) * random.uniform(0.5, 1.5)
        faults.append(Fault(random.choice(kinds), begins, lasts, target, other))
    return sorted(faults, key=lambda fault: fault.begins_s)


def begin(world: World, fault: Fault) -> None:
    """Makes it happen, if it can; its end is scheduled."""
    kind, _, where = fault.kind.partition(" ")
    if where == "followers":
        for one in world.node_ids:
            if one != world.leader_now():
                begin(world, fault._replace(kind=kind, target=one))
        return
    now = {
        "leader": world.leader_now,
        "controller": world.controller_now,
        "coordinator": world.coordinator_now,
        "group coordinator": world.group_coordinator_now,
    }
    target = (now[where]() if where in now else 0) or fault.target
    node = world.nodes[target]
    if kind in ("kill", "power"):
        if node.is_up and (where == "of all" or world.may_crash(target, power=kind == "power")):
            world.note(f"{kind} {node.name}")
            world.kill(node, power=kind == "power")
            world.later(fault.lasts_s, world.start_again, node)
    elif kind == "stop":
        if node.process is not None and not node.process.is_stopped:
            world.note(f"stop {node.name}")
            node.process.is_stopped = True
            world.later(fault.lasts_s, world.go_on, node.process)
    elif kind == "fence":
        if world.may_crash(target, power=False):  # it leaves the set, perhaps before those that are dead
            world.note(f"fence {node.name}")
            world.fence(target)
    else:
        _disturb(world, fault, target)


def _disturb(world: World, fault: Fault, target: int) -> None:
    network, name, other = world.network, f"broker-{target}", f"broker-{fault.other}"
    world.note(f"{fault.kind} {name} {other}")
    world.later(fault.lasts_s, world.heal)
    if fault.kind.startswith("isolate"):
        for node in world.nodes.values():
            network.cut_both_ways(name, node.name)
        network.cut_both_ways(name, STORE)
    elif fault.kind == "cut":
        network.cut_both_ways(name, other)
    elif fault.kind == "cut one way":
        network.cut_one_way(name, other)
    elif fault.kind == "cut from store":
        network.cut_both_ways(name, STORE)
    elif fault.kind == "lossy":
        network.loss = 0.1
    elif fault.kind == "late":
        network.late = 0.15
    else:
        network.slowest_s = 0.08
