"""Requests of AlterPartition, versions 2 to 3; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class PartitionDataV2:
    """Version 2."""

    partition_index: int
    leader_epoch: int
    new_isr: tuple[int, ...]
    leader_recovery_state: int
    partition_epoch: int

@final
@dataclass(frozen=True, kw_only=True)
class PartitionDataV3:
    """Version 3."""

    partition_index: int
    leader_epoch: int
    new_isr_with_epochs: tuple[BrokerState, ...]
    leader_recovery_state: int
    partition_epoch: int

PartitionData: TypeAlias = PartitionDataV2 | PartitionDataV3

@final
@dataclass(frozen=True, kw_only=True)
class TopicData:
    """Versions 2 to 3."""

    topic_id: UUID | None
    partitions: tuple[PartitionData, ...]

@final
@dataclass(frozen=True, kw_only=True)
class AlterPartitionRequest:
    """Versions 2 to 3."""

    broker_id: int
    broker_epoch: int
    topics: tuple[TopicData, ...]

@final
@dataclass(frozen=True, kw_only=True)
class BrokerState:
    """Version 3."""

    broker_id: int
    broker_epoch: int
