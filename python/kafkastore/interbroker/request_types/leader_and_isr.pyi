"""Requests of LeaderAndIsr, versions 7; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final
from uuid import UUID

@final
@dataclass(frozen=True, kw_only=True)
class LeaderAndIsrPartitionState:
    """Version 7."""

    partition_index: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]
    is_new: bool
    leader_recovery_state: int
    elr: tuple[int, ...]

@final
@dataclass(frozen=True, kw_only=True)
class LeaderAndIsrTopicState:
    """Version 7."""

    topic_name: str
    topic_id: UUID | None
    partition_states: tuple[LeaderAndIsrPartitionState, ...]

@final
@dataclass(frozen=True, kw_only=True)
class LeaderAndIsrLiveLeader:
    """Version 7."""

    broker_id: int
    host_name: str
    port: int

@final
@dataclass(frozen=True, kw_only=True)
class LeaderAndIsrRequest:
    """Version 7."""

    controller_id: int
    is_k_raft_controller: bool
    controller_epoch: int
    broker_epoch: int
    type_: int
    topic_states: tuple[LeaderAndIsrTopicState, ...]
    live_leaders: tuple[LeaderAndIsrLiveLeader, ...]
    number: int
