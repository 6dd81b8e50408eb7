"""Requests of DeleteRecords, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class DeleteRecordsPartition:
    """Versions 0 to 2."""

    partition_index: int
    offset: int

@final
@dataclass(frozen=True, kw_only=True)
class DeleteRecordsTopic:
    """Versions 0 to 2."""

    name: str
    partitions: tuple[DeleteRecordsPartition, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DeleteRecordsRequest:
    """Versions 0 to 2."""

    topics: tuple[DeleteRecordsTopic, ...]
    timeout: timedelta
