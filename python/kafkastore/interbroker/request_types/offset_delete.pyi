"""Requests of OffsetDelete, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class OffsetDeleteRequestPartition:
    """Version 0."""

    partition_index: int

@final
@dataclass(frozen=True, kw_only=True)
class OffsetDeleteRequestTopic:
    """Version 0."""

    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class OffsetDeleteRequest:
    """Version 0."""

    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]
