"""Requests of StopReplica, versions 4; made by ``make schema``, see ``__init__.py``."""

from dataclasses import dataclass
from typing import final

@final
@dataclass(frozen=True, kw_only=True)
class StopReplicaPartitionState:
    """Version 4."""

    partition_index: int
    leader_epoch: int
    delete_partition: bool

@final
@dataclass(frozen=True, kw_only=True)
class StopReplicaTopicState:
    """Version 4."""

    topic_name: str
    partition_states: tuple[StopReplicaPartitionState, ...]

@final
@dataclass(frozen=True, kw_only=True)
class StopReplicaRequest:
    """Version 4."""

    controller_id: int
    is_k_raft_controller: bool
    controller_epoch: int
    broker_epoch: int
    topic_states: tuple[StopReplicaTopicState, ...]
    number: int
