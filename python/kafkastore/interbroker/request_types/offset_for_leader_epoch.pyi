"""Requests of OffsetForLeaderEpoch, versions 0 to 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderPartitionV0:
    """Versions 0 to 1."""

    partition: int
    leader_epoch: int

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderPartitionV2:
    """Versions 2 to 4."""

    partition: int
    current_leader_epoch: int
    leader_epoch: int

OffsetForLeaderPartition: TypeAlias = OffsetForLeaderPartitionV0 | OffsetForLeaderPartitionV2

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderTopic:
    """Versions 0 to 4."""

    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderEpochRequestV0:
    """Versions 0 to 2."""

    topics: tuple[OffsetForLeaderTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetForLeaderEpochRequestV3:
    """Versions 3 to 4."""

    replica_id: int
    topics: tuple[OffsetForLeaderTopic, ...]

OffsetForLeaderEpochRequest: TypeAlias = OffsetForLeaderEpochRequestV0 | OffsetForLeaderEpochRequestV3
