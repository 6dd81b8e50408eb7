"""The states of replicas and partitions as the controller sees them, and their legal moves.

Tables only: no I/O, no clock, no consequences of a move. A move that is not in the table is a bug of the controller.
"""

from __future__ import annotations

from enum import Enum


class _State(Enum):
    __hash__ = object.__hash__  # members are singletons; Enum's own hash is slow, and a failover has thousands of moves


class ReplicaState(_State):
    NON_EXISTENT = "NonExistent"
    NEW = "New"  # assigned; its broker has not been sent LeaderAndIsr yet
    ONLINE = "Online"  # its broker is alive and is sent LeaderAndIsr
    OFFLINE = "Offline"  # its broker is not alive, or its log directory failed
    DELETION_STARTED = "DeletionStarted"  # its broker is sent StopReplica with deletion
    DELETION_SUCCESSFUL = "DeletionSuccessful"
    DELETION_INELIGIBLE = "DeletionIneligible"  # its broker is not alive, or could not delete it


class PartitionStatus(_State):
    NON_EXISTENT = "NonExistent"
    NEW = "New"  # assigned; never had a leader
    ONLINE = "Online"  # has a leader
    OFFLINE = "Offline"  # had a leader


_R = ReplicaState
_P = PartitionStatus

REPLICA_MOVES: dict[ReplicaState, frozenset[ReplicaState]] = {
    _R.NON_EXISTENT: frozenset((_R.NEW,)),
    _R.NEW: frozenset((_R.ONLINE, _R.OFFLINE)),
    _R.ONLINE: frozenset((_R.ONLINE, _R.OFFLINE)),
    _R.OFFLINE: frozenset((_R.ONLINE, _R.OFFLINE, _R.DELETION_STARTED, _R.DELETION_INELIGIBLE)),
    _R.DELETION_STARTED: frozenset((_R.DELETION_SUCCESSFUL, _R.DELETION_INELIGIBLE)),
    _R.DELETION_INELIGIBLE: frozenset((_R.ONLINE, _R.OFFLINE)),
    _R.DELETION_SUCCESSFUL: frozenset((_R.NON_EXISTENT,)),
}
"""Where a replica may go from each state."""

PARTITION_MOVES: dict[PartitionStatus, frozenset[PartitionStatus]] = {
    _P.NON_EXISTENT: frozenset((_P.NEW,)),
    _P.NEW: frozenset((_P.ONLINE, _P.OFFLINE)),
    _P.ONLINE: frozenset((_P.ONLINE, _P.OFFLINE)),
    _P.OFFLINE: frozenset((_P.ONLINE, _P.OFFLINE, _P.NON_EXISTENT)),
}
"""Where a partition may go from each state."""


def check_replica_move(current: ReplicaState, target: ReplicaState) -> None:
    assert target in REPLICA_MOVES[current], f"a replica cannot go from {current.value} to {target.value}"


def check_partition_move(current: PartitionStatus, target: PartitionStatus) -> None:
    assert target in PARTITION_MOVES[current], f"a partition cannot go from {current.value} to {target.value}"
