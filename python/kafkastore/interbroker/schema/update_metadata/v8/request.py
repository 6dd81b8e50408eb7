"""UpdateMetadataRequest version 8; facts of ``UpdateMetadataRequest.json`` of Kafka 3.9.

What the controller tells every broker of all partitions and brokers, for its clients.
"""

import uuid
from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import BrokerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataPartitionState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(8)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(6)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    partition_index: i32 = field(metadata={"kafka_type": "int32"})
    """The partition index."""
    controller_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The epoch of the controller that wrote the state."""
    leader: BrokerId = field(metadata={"kafka_type": "int32"})
    """The leader, -1 for none, -2 when the topic is being deleted."""
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """The leader epoch."""
    isr: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The in-sync replicas."""
    zk_version: i32 = field(metadata={"kafka_type": "int32"})
    """The version of the partition's state node."""
    replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """The replicas."""
    offline_replicas: tuple[BrokerId, ...] = field(metadata={"kafka_type": "int32"})
    """Those of them that are offline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataTopicState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(8)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(6)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    topic_name: TopicName = field(metadata={"kafka_type": "string"})
    """The topic."""
    topic_id: uuid.UUID | None = field(metadata={"kafka_type": "uuid"})
    """Its id."""
    partition_states: tuple[UpdateMetadataPartitionState, ...]
    """Its partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataEndpoint:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(8)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(6)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    port: i32 = field(metadata={"kafka_type": "int32"})
    """The port."""
    host: str = field(metadata={"kafka_type": "string"})
    """The host."""
    listener: str = field(metadata={"kafka_type": "string"})
    """The name of the listener."""
    security_protocol: i16 = field(metadata={"kafka_type": "int16"})
    """0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataBroker:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(8)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(6)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    id_: BrokerId = field(metadata={"kafka_type": "int32"})
    """The broker."""
    endpoints: tuple[UpdateMetadataEndpoint, ...]
    """Where it listens."""
    rack: str | None = field(metadata={"kafka_type": "string"})
    """Its rack."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMetadataRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(8)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(6)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: BrokerId = field(metadata={"kafka_type": "int32"})
    """The controller."""
    is_k_raft_controller: bool = field(metadata={"kafka_type": "bool"}, default=False)
    """Never true here."""
    type_: i8 = field(metadata={"kafka_type": "int8", "tag": 0}, default=i8(0))
    """0 unknown, 1 some partitions, 2 all of them."""
    controller_epoch: i32 = field(metadata={"kafka_type": "int32"})
    """Its epoch."""
    broker_epoch: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    """The life of the broker that this is meant for."""
    topic_states: tuple[UpdateMetadataTopicState, ...]
    """The topics."""
    live_brokers: tuple[UpdateMetadataBroker, ...]
    """All brokers that are alive."""
    number: i64 = field(metadata={"kafka_type": "int64", "tag": 10000}, default=i64(0))
    """Rises with each request of a controller; 0 unknown. Not Kafka's: a copy that comes late is told by it."""
