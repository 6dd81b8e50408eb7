"""The placement of the replicas of new partitions on brokers. Pure arithmetic.

Brokers and partitions are sorted; with n brokers, partition i prefers broker i mod n, and the j-th replica of the k-th
partition of that broker goes to (i + j + k) mod n, so that a dead broker's load spreads over all the others. Partitions
are counted through the whole cluster: the first ones of many topics prefer different brokers. With racks the brokers
are ordered so that racks alternate, and a replica goes to a rack that holds none yet while there is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import InvalidReplicationFactorError

if TYPE_CHECKING:
    from collections.abc import Mapping


def place_replicas(
    brokers: Mapping[int, str | None], partitions: int, replication_factor: int, first_partition: int = 0
) -> list[tuple[int, ...]]:
    """The replicas of partitions first_partition … first_partition + partitions - 1, the preferred leader first.
    ``brokers`` are the live brokers with their racks. Raises InvalidReplicationFactorError when they are too few."""
    count = len(brokers)
    if replication_factor > count:
        raise InvalidReplicationFactorError(
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of"
            f" {replication_factor} cannot be reached because only {count} broker(s) are registered or some"
            " brokers have all their log directories cordoned."
        )
    if count == 1:
        return [tuple(brokers)] * partitions
    order = _alternate_racks(brokers)
    racks = {rack for rack in brokers.values() if rack is not None}
    placed = []
    equal: dict[tuple[int, int], tuple[int, ...]] = {}  # the placement repeats after count * (count - 1) partitions
    for partition in range(first_partition, first_partition + partitions):
        first = partition % count
        shift = partition // count % (count - 1)  # this is the shift-th partition of broker `first`
        known = equal.get((first, shift))
        if known is not None:
            placed.append(known)
            continue
        replicas = [order[first]]
        candidates = [order[(first + 1 + (shift + step) % (count - 1)) % count] for step in range(count - 1)]
        while len(replicas) < replication_factor:
            used = {brokers[replica] for replica in replicas}
            fresh = [broker for broker in candidates if brokers[broker] not in used] if len(racks) > 1 else candidates
            chosen = (fresh or candidates)[0]
            candidates.remove(chosen)
            replicas.append(chosen)
        equal[first, shift] = tuple(replicas)
        placed.append(equal[first, shift])
    return placed


def next_place(brokers: Mapping[int, str | None], first: int, partitions: int) -> int:
    """The ``first_partition`` with which :func:`place_replicas` continues a topic that has ``partitions`` partitions
    and whose partition 0 prefers broker ``first``."""
    if len(brokers) == 1:
        return partitions
    order = _alternate_racks(brokers)
    return partitions + (order.index(first) if first in order else 0)


def _alternate_racks(brokers: Mapping[int, str | None]) -> list[int]:
    """Brokers in ascending order, one of each rack in turn."""
    by_rack: dict[str, list[int]] = {}
    for broker in sorted(brokers):
        by_rack.setdefault(brokers[broker] or "", []).append(broker)
    queues = [by_rack[rack] for rack in sorted(by_rack)]
    order: list[int] = []
    while len(order) < len(brokers):
        order += [queue.pop(0) for queue in queues if queue]
    return order
