"""Requests of DescribeLogDirs, versions 0 to 5; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class DescribableLogDirTopic:
    """Versions 0 to 5."""

    topic: str
    partitions: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DescribeLogDirsRequest:
    """Versions 0 to 5."""

    topics: tuple[DescribableLogDirTopic, ...] | None
