"""Requests of OffsetForLeaderEpoch, versions 2 to 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderPartition:
    """Versions 2 to 4."""

    partition: int
    current_leader_epoch: int
    leader_epoch: int

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderTopic:
    """Versions 2 to 4."""

    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderEpochRequestV2:
    """Version 2."""

    topics: tuple[OffsetForLeaderTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderEpochRequestV3:
    """Versions 3 to 4."""

    replica_id: int
    topics: tuple[OffsetForLeaderTopic, ...]

OffsetForLeaderEpochRequest: TypeAlias = OffsetForLeaderEpochRequestV2 | OffsetForLeaderEpochRequestV3
