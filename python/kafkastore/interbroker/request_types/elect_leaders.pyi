"""Requests of ElectLeaders, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class TopicPartitions:
    """Versions 0 to 2."""

    topic: str
    partitions: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class ElectLeadersRequestV0:
    """Version 0."""

    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout: timedelta

@final
@dataclass(frozen=True, kw_only=True)
class ElectLeadersRequestV1:
    """Versions 1 to 2."""

    election_type: int
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout: timedelta

ElectLeadersRequest: TypeAlias = ElectLeadersRequestV0 | ElectLeadersRequestV1
