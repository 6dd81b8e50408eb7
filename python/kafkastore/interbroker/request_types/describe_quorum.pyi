"""Requests of DescribeQuorum, versions 0 to 2; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class PartitionData:
    """Versions 0 to 2."""

    partition_index: int

@final
@dataclass(frozen=True, kw_only=True)
class TopicData:
    """Versions 0 to 2."""

    topic_name: str
    partitions: tuple[PartitionData, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DescribeQuorumRequest:
    """Versions 0 to 2."""

    topics: tuple[TopicData, ...]
