"""Requests of DescribeTopicPartitions, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class TopicRequest:
    """Version 0."""

    name: str

@final
@dataclass(frozen=True, kw_only=True)
class Cursor:
    """Version 0."""

    topic_name: str
    partition_index: int

@final
@dataclass(frozen=True, kw_only=True)
class DescribeTopicPartitionsRequest:
    """Version 0."""

    topics: tuple[TopicRequest, ...]
    response_partition_limit: int
    cursor: Cursor | None
