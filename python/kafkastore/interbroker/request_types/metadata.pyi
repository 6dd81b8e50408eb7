"""Requests of Metadata, versions 0 to 13; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import TypeAlias, final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestTopicV0:
    """Versions 0 to 9."""

    name: str

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestTopicV10:
    """Versions 10 to 13."""

    topic_id: UUID | None
    name: str | None

MetadataRequestTopic: TypeAlias = MetadataRequestTopicV0 | MetadataRequestTopicV10

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestV0:
    """Versions 0 to 3."""

    topics: tuple[MetadataRequestTopic, ...] | None

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestV4:
    """Versions 4 to 7."""

    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestV8:
    """Versions 8 to 10."""

    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool
    include_cluster_authorized_operations: bool
    include_topic_authorized_operations: bool

@final
@dataclass(frozen=True, kw_only=True)
class MetadataRequestV11:
    """Versions 11 to 13."""

    topics: tuple[MetadataRequestTopic, ...] | None
    allow_auto_topic_creation: bool
    include_topic_authorized_operations: bool

MetadataRequest: TypeAlias = MetadataRequestV0 | MetadataRequestV4 | MetadataRequestV8 | MetadataRequestV11
