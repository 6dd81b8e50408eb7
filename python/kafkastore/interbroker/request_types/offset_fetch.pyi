"""Requests of OffsetFetch, versions 1 to 10; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestTopic:
    """Versions 1 to 7."""

    name: str
    partition_indexes: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestV1:
    """Versions 1 to 6."""

    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestV7:
    """Version 7."""

    group_id: str
    topics: tuple[OffsetFetchRequestTopic, ...] | None
    require_stable: bool

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestV8:
    """Versions 8 to 10."""

    groups: tuple[OffsetFetchRequestGroup, ...]
    require_stable: bool

OffsetFetchRequest: TypeAlias = OffsetFetchRequestV1 | OffsetFetchRequestV7 | OffsetFetchRequestV8

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestTopicsV8:
    """Versions 8 to 9."""

    name: str
    partition_indexes: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestTopicsV10:
    """Version 10."""

    topic_id: UUID | None
    partition_indexes: tuple[int, ...]

OffsetFetchRequestTopics: TypeAlias = OffsetFetchRequestTopicsV8 | OffsetFetchRequestTopicsV10

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestGroupV8:
    """Version 8."""

    group_id: str
    topics: tuple[OffsetFetchRequestTopics, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class OffsetFetchRequestGroupV9:
    """Versions 9 to 10."""

    group_id: str
    member_id: str | None
    member_epoch: int
    topics: tuple[OffsetFetchRequestTopics, ...] | None

OffsetFetchRequestGroup: TypeAlias = OffsetFetchRequestGroupV8 | OffsetFetchRequestGroupV9
