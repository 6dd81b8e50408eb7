"""Requests of AlterPartitionReassignments, versions 0 to 1; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class ReassignablePartition:
    """Versions 0 to 1."""

    partition_index: int
    replicas: tuple[int, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class ReassignableTopic:
    """Versions 0 to 1."""

    name: str
    partitions: tuple[ReassignablePartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterPartitionReassignmentsRequestV0:
    """Version 0."""

    timeout: timedelta
    topics: tuple[ReassignableTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterPartitionReassignmentsRequestV1:
    """Version 1."""

    timeout: timedelta
    allow_replication_factor_change: bool
    topics: tuple[ReassignableTopic, ...]

AlterPartitionReassignmentsRequest: TypeAlias = (
    AlterPartitionReassignmentsRequestV0 | AlterPartitionReassignmentsRequestV1
)
