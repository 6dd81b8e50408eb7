"""Requests of DescribeProducers, versions 0; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class TopicRequest:
    """Version 0."""

    name: str
    partition_indexes: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class DescribeProducersRequest:
    """Version 0."""

    topics: tuple[TopicRequest, ...]
