"""Requests of CreatePartitions, versions 0 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class CreatePartitionsAssignment:
    """Versions 0 to 3."""

    broker_ids: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class CreatePartitionsTopic:
    """Versions 0 to 3."""

    name: str
    count: int
    assignments: tuple[CreatePartitionsAssignment, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class CreatePartitionsRequest:
    """Versions 0 to 3."""

    topics: tuple[CreatePartitionsTopic, ...]
    timeout: timedelta
    validate_only: bool
