"""LeaderAndIsrRequest version 7; facts of ``LeaderAndIsrRequest.json`` of Kafka 3.9.

What the controller tells a broker of the partitions that it holds.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrPartitionState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(7)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(4)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    partition_index: i32 = field(metadata={"kafka_type": "int32"})
    """The partition index."""
    controller_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The epoch of the controller that wrote the state."""
    leader: BrokerId = field(metadata={"kafka_type": "int32"})
    """The leader, or -1."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The leader epoch."""
    isr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The in-sync replicas."""
    partition_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The version of the partition's state node."""
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas, the preferred leader first."""
    adding_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """Replicas that are being added."""
    removing_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """Replicas that are being removed."""
    is_new: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """Whether the replica is made by this request."""
    leader_recovery_state: i8 = field(metadata={"kafka_type": "int8"}, default=i8(0))
    """1 after an unclean election, until the leader has recovered."""
    elr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32", "tag": 10000}, default=())
    """The eligible leader replicas (KIP-966). Not Kafka's: its controllers never sent it in this API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrTopicState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(7)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(4)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    topic_name: TopicName = field(metadata={"kafka_type": "string"})
    """The topic."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """Its id."""
    partition_states: tuple[LeaderAndIsrPartitionState, ...]
    """Its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrLiveLeader:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(7)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(4)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    broker_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The leader."""
    host_name: str = field(metadata={"kafka_type": "string"})
    """Where it listens."""
    port: i32 = field(metadata={"kafka_type": "int32"})
    """Its port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(7)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(4)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The controller."""
    is_k_raft_controller: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """Never true here."""
    controller_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """Its epoch; a broker refuses one below the highest that it has seen."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    """The life of the broker that this is meant for."""
    type_: i8 = field(metadata={"kafka_type": "int8"})
    """0 unknown, 1 some of the broker's replicas, 2 all of them."""
    topic_states: tuple[LeaderAndIsrTopicState, ...]
    """The topics."""
    live_leaders: tuple[LeaderAndIsrLiveLeader, ...]
    """The leaders that are alive."""
    number: i64 = field(metadata={"kafka_type": "int64", "tag": 10000}, default=i64(0))
    """Rises with each request of a controller; 0 unknown. Not Kafka's: a copy that comes late is told by it."""
