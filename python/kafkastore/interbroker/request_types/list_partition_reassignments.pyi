"""Requests of ListPartitionReassignments, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class ListPartitionReassignmentsTopics:
    """Version 0."""

    name: str
    partition_indexes: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class ListPartitionReassignmentsRequest:
    """Version 0."""

    timeout: timedelta
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None
