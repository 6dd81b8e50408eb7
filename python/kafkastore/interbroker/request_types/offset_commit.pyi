"""Requests of OffsetCommit, versions 2 to 10; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestPartitionV2:
    """Versions 2 to 5."""

    partition_index: int
    committed_offset: int
    committed_metadata: str | None

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestPartitionV6:
    """Versions 6 to 10."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None

OffsetCommitRequestPartition: TypeAlias = OffsetCommitRequestPartitionV2 | OffsetCommitRequestPartitionV6

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestTopicV2:
    """Versions 2 to 9."""

    name: str
    partitions: tuple[OffsetCommitRequestPartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestTopicV10:
    """Version 10."""

    topic_id: UUID | None
    partitions: tuple[OffsetCommitRequestPartition, ...]

OffsetCommitRequestTopic: TypeAlias = OffsetCommitRequestTopicV2 | OffsetCommitRequestTopicV10

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestV2:
    """Versions 2 to 4."""

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    retention_time: timedelta
    topics: tuple[OffsetCommitRequestTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestV5:
    """Versions 5 to 6."""

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    topics: tuple[OffsetCommitRequestTopic, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetCommitRequestV7:
    """Versions 7 to 10."""

    group_id: str
    generation_id_or_member_epoch: int
    member_id: str
    group_instance_id: str | None
    topics: tuple[OffsetCommitRequestTopic, ...]

OffsetCommitRequest: TypeAlias = OffsetCommitRequestV2 | OffsetCommitRequestV5 | OffsetCommitRequestV7
