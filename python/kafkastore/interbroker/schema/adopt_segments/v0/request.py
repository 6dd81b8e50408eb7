"""AdoptSegmentsRequest version 0, an API of our own; the grammar is in ``rust/protocol/adopt_segments.rs``.

A bulk load has built segments in the leader's log directory, and asks the leader to append them.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.types import ProducerId, TopicName
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptSegmentsRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(27000)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    topic: TopicName = field(metadata={"kafka_type": "string"})
    """The topic."""
    partition: i32 = field(metadata={"kafka_type": "int32"})
    """The partition."""
    producer_id: ProducerId = field(metadata={"kafka_type": "int64"})
    """The load's producer id."""
    producer_epoch: i16 = field(metadata={"kafka_type": "int16"})
    """Its epoch."""
    first_sequence: i32 = field(metadata={"kafka_type": "int32"})
    """The sequence of the first record in the segments."""
    record_count: i32 = field(metadata={"kafka_type": "int32"})
    """Records of the whole load for this partition."""
    is_new: bool = field(metadata={"kafka_type": "bool"})
    """Whether the producer id was never used before."""
    timeout_ms: i32 = field(metadata={"kafka_type": "int32"})
    """How long the answer may wait for the in-sync replicas."""
