"""AdoptSegmentsResponse version 0, an API of our own; the grammar is in ``rust/protocol/adopt_segments.rs``.

The answer to AdoptSegmentsRequest: what the log has of the load.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.errors import ErrorCode
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptSegmentsResponse:
    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(27000)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """0."""
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """0 when the log has the whole load."""
    error_message: str | None = field(metadata={"kafka_type": "string"})
    """Why not."""
    base_offset: i64 = field(metadata={"kafka_type": "int64"})
    """The offset of the load's first record, -1 for none."""
    last_offset: i64 = field(metadata={"kafka_type": "int64"})
    """The offset of the load's last record in the log, -1 for none."""
    records: i32 = field(metadata={"kafka_type": "int32"})
    """Records of the load in the log, -1 when it is not known."""
