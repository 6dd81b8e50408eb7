"""Plans where the replicas of some topics are to be: on certain brokers alone, more or fewer of each partition.
Pure arithmetic. ``balance.py`` plans for a whole cluster.

A replica stays where it is unless its broker may have none. Fewer: the replica goes whose rack has another one, then
the one on the broker with the most bytes. More: the broker gets it whose rack has none, then the one with the fewest
bytes. The preferred leaders of the partitions that change are evened out over all brokers.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore.admin.admin_client import AdminError
from kafkastore.admin.balance import Plan, spread_leaders

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    Key = tuple[str, int]
    Assignment = Mapping[Key, Sequence[int]]


def plan_topics(
    assignment: Assignment,
    topics: Collection[str],
    sizes: Mapping[Key, int],
    brokers: Mapping[int, str | None],
    replication_factor: int | None = None,
) -> Plan:
    """``assignment`` are the replicas of all partitions of the cluster, ``brokers`` those that may have replicas of
    these topics, with their racks. Without ``replication_factor`` each partition keeps as many as it has. Raises
    AdminError where brokers are too few."""
    held: Counter[int] = Counter()
    for key, replicas in assignment.items():
        held.update(dict.fromkeys(replicas, sizes.get(key, 0) + 1))
    targets: dict[Key, list[int]] = {}
    moved = 0
    for key, replicas in sorted(assignment.items()):
        if key[0] not in topics:
            continue
        count = len(replicas) if replication_factor is None else replication_factor
        if count > len(brokers):
            raise AdminError(
                f"{key[0]} is to have {count} replicas of each partition, and {len(brokers)} broker(s) may have them; "
                "name more brokers, or fewer replicas"
            )
        target = _placed(replicas, count, brokers, held)
        weight = sizes.get(key, 0) + 1
        held.subtract(dict.fromkeys(set(replicas) - set(target), weight))
        held.update(dict.fromkeys(set(target) - set(replicas), weight))
        moved += sizes.get(key, 0) * len(set(target) - set(replicas))
        if target != list(replicas):
            targets[key] = target
    spread_leaders({key: targets.get(key, replicas) for key, replicas in assignment.items() if replicas}, targets)
    changed = {key: tuple(target) for key, target in targets.items()}
    return Plan(changed, moved, moved)


def _placed(
    replicas: Sequence[int], count: int, brokers: Mapping[int, str | None], held: Mapping[int, int]
) -> list[int]:
    target = [node for node in replicas if node in brokers]
    while len(target) > count:
        racks = Counter(brokers[node] for node in target)
        target.remove(max(reversed(target), key=lambda node: (racks[brokers[node]] > 1, held[node])))
    while len(target) < count:
        used = {brokers[node] for node in target}
        free = sorted(set(brokers) - set(target))
        target.append(min(free, key=lambda node: (brokers[node] in used, held[node], node)))
    return target
