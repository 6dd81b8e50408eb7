"""Requests of CreateTopics, versions 0 to 7; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias, final

@final
@dataclass(frozen=True, kw_only=True)
class CreatableReplicaAssignment:
    """Versions 0 to 7."""

    partition_index: int
    broker_ids: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class CreatableTopicConfig:
    """Versions 0 to 7."""

    name: str
    value: str | None

@final
@dataclass(frozen=True, kw_only=True)
class CreatableTopic:
    """Versions 0 to 7."""

    name: str
    num_partitions: int
    replication_factor: int
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]

@final
@dataclass(frozen=True, kw_only=True)
class CreateTopicsRequestV0:
    """Version 0."""

    topics: tuple[CreatableTopic, ...]
    timeout: timedelta

@final
@dataclass(frozen=True, kw_only=True)
class CreateTopicsRequestV1:
    """Versions 1 to 7."""

    topics: tuple[CreatableTopic, ...]
    timeout: timedelta
    validate_only: bool

CreateTopicsRequest: TypeAlias = CreateTopicsRequestV0 | CreateTopicsRequestV1
