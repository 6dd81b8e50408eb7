"""Plans which replicas move when brokers are added or removed: balanced, with the least data moved.
Pure arithmetic.

Added     Every broker ends with as many replicas as the others, give or take one. Of the plans that do this, the one
          that moves the fewest bytes is taken.
Balanced  The same for the brokers of the cluster. The preferred leaders are evened out over all partitions.
Removed   The replicas of the removed brokers move, and no others. They go to the brokers with the fewest bytes.

Every plan keeps the replicas of a partition on different brokers and, where brokers have racks, spread over the racks.
The preferred leader of a partition that moves is the replica whose broker leads the fewest partitions; that moves no
data.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from kafkastore.admin.placement_flow import ReplicaFlow
from kafkastore.errors import InvalidReplicationFactorError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    Key = tuple[str, int]
    Assignment = Mapping[Key, Sequence[int]]


class Plan(NamedTuple):
    targets: dict[Key, tuple[int, ...]]
    """The target replicas of each partition that changes, the preferred leader first."""
    moved_bytes: int
    min_bytes: int
    """A lower bound: no plan with the same outcome for the brokers moves fewer bytes."""


def plan_balanced(assignment: Assignment, sizes: Mapping[Key, int], brokers: Mapping[int, str | None]) -> Plan:
    """The plan of :func:`plan_added` without new brokers, with the preferred leaders of all partitions evened out."""
    plan = plan_added(assignment, sizes, brokers)
    targets = {key: list(plan.targets.get(key, replicas)) for key, replicas in assignment.items() if replicas}
    spread_leaders({key: list(target) for key, target in targets.items()}, targets)
    changed = {key: tuple(target) for key, target in targets.items() if tuple(target) != tuple(assignment[key])}
    return Plan(changed, plan.moved_bytes, plan.min_bytes)


def plan_added(assignment: Assignment, sizes: Mapping[Key, int], brokers: Mapping[int, str | None]) -> Plan:
    """Balances all ``brokers``, given with their racks; a new broker has no replicas yet."""
    flow = ReplicaFlow(assignment, _weights(assignment, sizes), brokers, is_rack_aware=True)
    low, rest = divmod(sum(flow.count.values()), len(brokers))
    high = low + (rest > 0)
    least = _min_to_balance(flow, sizes, low, high)

    def takes(node: int) -> tuple[int, ...] | None:
        return (flow.count[node] >= low,) if flow.count[node] < high else None

    def lacks(node: int) -> tuple[int, ...] | None:
        return (0,) if flow.count[node] < low else None

    while over := [node for node in flow.nodes if flow.count[node] > high]:
        if not flow.shift(over, takes):
            break
    while any(flow.count[node] < low for node in brokers):
        if not flow.shift([node for node in flow.nodes if flow.count[node] > low], lacks):
            break
    return _plan(assignment, sizes, flow, least)


def plan_removed(
    assignment: Assignment, sizes: Mapping[Key, int], brokers: Mapping[int, str | None], leaving: Collection[int]
) -> Plan:
    """Moves all replicas off the brokers ``leaving``; ``brokers`` are the brokers that stay. Raises
    InvalidReplicationFactorError when too few brokers stay for the replicas of a partition."""
    for (topic, number), replicas in assignment.items():
        if len(replicas) > len(brokers) and not set(replicas).isdisjoint(leaving):
            raise InvalidReplicationFactorError(
                f"{topic}-{number} has {len(replicas)} replicas and only {len(brokers)} broker(s) would be left; add a "
                "broker first, or give the topic fewer replicas"
            )
    least = sum(sizes.get(key, 0) for key, replicas in assignment.items() for node in replicas if node in leaving)
    weights = _weights(assignment, sizes)
    flow = ReplicaFlow(assignment, weights, brokers, is_rack_aware=True)
    if not _empty(flow, leaving):  # the last brokers of a rack leave: replicas cannot be spread over the racks any more
        flow = ReplicaFlow(assignment, weights, brokers, is_rack_aware=False)
        _empty(flow, leaving)
    return _plan(assignment, sizes, flow, least)


def _empty(flow: ReplicaFlow, leaving: Collection[int]) -> bool:
    """Moves all replicas off the brokers ``leaving``. Returns whether all of them could move."""

    def takes(node: int) -> tuple[int, ...] | None:
        return (0, flow.count[node]) if node in flow.brokers else None

    while full := [node for node in leaving if flow.count.get(node)]:
        if not flow.shift(full, takes):
            return False
    return True


def _weights(assignment: Assignment, sizes: Mapping[Key, int]) -> dict[Key, int]:
    """The cost of moving a replica of each partition: its bytes first, then the number of replicas that move."""
    unit = 1 + sum(len(replicas) for replicas in assignment.values())
    return {key: sizes.get(key, 0) * unit + 1 for key in assignment}


def _min_to_balance(flow: ReplicaFlow, sizes: Mapping[Key, int], low: int, high: int) -> int:
    """The least bytes that brokers with too many replicas must give, or brokers with too few must get: those of their
    smallest partitions."""
    given = taken = 0
    for node in flow.nodes:
        held = sorted(sizes.get(key, 0) for key, replicas in flow.found.items() if node in replicas)
        others = sorted(sizes.get(key, 0) for key, replicas in flow.found.items() if node not in replicas)
        given += sum(held[: max(len(held) - high, 0)])
        taken += sum(others[: max(low - len(held), 0)])
    return max(given, taken)


def _plan(assignment: Assignment, sizes: Mapping[Key, int], flow: ReplicaFlow, least: int) -> Plan:
    targets: dict[Key, list[int]] = {}
    moved = 0
    for key, replicas in sorted(assignment.items()):
        added = sorted(flow.holders[key] - set(replicas))
        if added:
            moved += len(added) * sizes.get(key, 0)
            fresh = iter(added)
            targets[key] = [node if node in flow.holders[key] else next(fresh) for node in replicas]
    spread_leaders({key: targets.get(key, replicas) for key, replicas in assignment.items() if replicas}, targets)
    return Plan({key: tuple(target) for key, target in targets.items()}, moved, least)


def spread_leaders(assignment: Assignment, targets: Mapping[Key, list[int]]) -> None:
    """Puts another replica first in ``targets`` while that evens out how many partitions each broker leads."""
    led = Counter(replicas[0] for replicas in assignment.values())
    is_changed = True
    while is_changed:
        is_changed = False
        for target in targets.values():
            least = min(target, key=lambda node: led[node])
            if led[target[0]] - led[least] > 1:
                led[target[0]] -= 1
                led[least] += 1
                target.remove(least)
                target.insert(0, least)
                is_changed = True
