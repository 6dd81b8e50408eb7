"""StopReplicaRequest version 4; facts of ``StopReplicaRequest.json`` of Kafka 3.9.

What the controller tells a broker not to replicate any more, and perhaps to delete.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaPartitionState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    partition_index: i32 = field(metadata={"kafka_type": "int32"})
    """The partition index."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """The leader epoch; -2 when the topic is deleted."""
    delete_partition: bool = field(metadata={"kafka_type": "bool"})
    """Whether the log is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaTopicState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    topic_name: TopicName = field(metadata={"kafka_type": "string"})
    """The topic."""
    partition_states: tuple[StopReplicaPartitionState, ...]
    """Its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopReplicaRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(4)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(5)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The controller."""
    is_k_raft_controller: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """Never true here."""
    controller_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """Its epoch."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    """The life of the broker that this is meant for."""
    topic_states: tuple[StopReplicaTopicState, ...]
    """The topics."""
    number: i64 = field(metadata={"kafka_type": "int64", "tag": 10000}, default=i64(0))
    """Rises with each request of a controller; 0 unknown. Not Kafka's: a copy that comes late is told by it."""
