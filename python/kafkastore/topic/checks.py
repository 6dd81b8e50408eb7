"""The checks of replicas and of growth, which the broker that plans a change and the controller that decides it share.

The caller passes the known state: the broker from its image, the controller from its context. The messages of refusals
are Kafka's (ReplicationControlManager).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkastore.config.removed import refusal
from kafkastore.errors import (
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
)

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


def check_replicas(replicas: Sequence[int], brokers: Container[int], removed: Container[int] = ()) -> None:
    """Checks that a partition may have these replicas: they must be in ``brokers`` and not in ``removed``, each once.
    Raises InvalidReplicaAssignmentError."""
    if not replicas:
        raise InvalidReplicaAssignmentError("The manual partition assignment includes an empty replica list.")
    counts = Counter(replicas)
    for replica in replicas:
        if replica not in brokers:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes broker {replica}, but no such broker is registered."
            )
        if replica in removed:
            raise InvalidReplicaAssignmentError(refusal(replica))
        if counts[replica] > 1:
            raise InvalidReplicaAssignmentError(
                f"The manual partition assignment includes the broker {replica} more than once."
            )


def check_target(target: Sequence[int], brokers: Container[int], factor: int | None) -> None:
    """Checks that a partition may be moved to ``target``, which must have ``factor`` replicas unless ``factor`` is
    None. Raises InvalidReplicaAssignmentError, InvalidReplicationFactorError."""
    check_replicas(sorted(target), brokers)
    if factor is not None and len(target) != factor:
        raise InvalidReplicationFactorError(f"The replication factor is changed from {factor} to {len(target)}")


def check_growth(name: str, current: int, wanted: int) -> None:
    """Checks that a topic may grow from ``current`` to ``wanted`` partitions. Raises InvalidPartitionsError."""
    if wanted == current:
        raise InvalidPartitionsError(f"Topic already has {current} partition(s).")
    if wanted < current:
        raise InvalidPartitionsError(
            f"The topic {name} currently has {current} partition(s); {wanted} would not be an increase."
        )


def check_addition(additional: int, assignments: Sequence[Sequence[int]]) -> None:
    """Checks that each of ``additional`` partitions has an assignment. Raises InvalidReplicaAssignmentError."""
    if len(assignments) != additional:
        raise InvalidReplicaAssignmentError(
            f"Attempted to add {additional} additional partition(s), but only {len(assignments)} assignment(s)"
            " were specified."
        )
