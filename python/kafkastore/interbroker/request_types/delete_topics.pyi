"""Requests of DeleteTopics, versions 0 to 6; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class DeleteTopicsRequestV0:
    """Versions 0 to 5."""

    topic_names: tuple[str, ...]
    timeout: timedelta

@final
@dataclass(frozen=True, kw_only=True)
class DeleteTopicsRequestV6:
    """Version 6."""

    topics: tuple[DeleteTopicState, ...]
    timeout: timedelta

DeleteTopicsRequest: TypeAlias = DeleteTopicsRequestV0 | DeleteTopicsRequestV6

@final
@dataclass(frozen=True, kw_only=True)
class DeleteTopicState:
    """Version 6."""

    name: str | None
    topic_id: UUID | None
