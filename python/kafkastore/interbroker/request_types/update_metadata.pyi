"""Requests of UpdateMetadata, versions 8; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class UpdateMetadataPartitionState:
    """Version 8."""

    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    zk_version: int
    replicas: tuple[int, ...]
    offline_replicas: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class UpdateMetadataTopicState:
    """Version 8."""

    topic_name: str
    topic_id: UUID | None
    partition_states: tuple[UpdateMetadataPartitionState, ...]

@final
@dataclass(frozen=True, kw_only=True)
class UpdateMetadataEndpoint:
    """Version 8."""

    port: int
    host: str
    listener: str
    security_protocol: int

@final
@dataclass(frozen=True, kw_only=True)
class UpdateMetadataBroker:
    """Version 8."""

    id_: int
    endpoints: tuple[UpdateMetadataEndpoint, ...]
    rack: str | None

@final
@dataclass(frozen=True, kw_only=True)
class UpdateMetadataRequest:
    """Version 8."""

    controller_id: int
    is_k_raft_controller: bool
    type_: int
    controller_epoch: int
    broker_epoch: int
    topic_states: tuple[UpdateMetadataTopicState, ...]
    live_brokers: tuple[UpdateMetadataBroker, ...]
    number: int
