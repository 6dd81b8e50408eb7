"""DescribeTransactionsResponse version 0 (KIP-664). kio's refuses the start time -1, which a transaction that is not
ongoing has.

The answer to DescribeTransactionsRequest: who may write with each transactional id.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.describe_transactions.v0.response import TopicData
from kio.schema.errors import ErrorCode
from kio.schema.response_header.v1.header import ResponseHeader
from kio.schema.types import ProducerId, TransactionalId
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32Timedelta, i64


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(65)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """Why this one is not described."""
    transactional_id: TransactionalId = field(metadata={"kafka_type": "string"})
    """Which one."""
    transaction_state: str = field(metadata={"kafka_type": "string"})
    """``Empty``, ``Ongoing`` and so on."""
    transaction_timeout: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """After it the coordinator aborts a transaction."""
    transaction_start_time: i64 = field(metadata={"kafka_type": "int64"})
    """ms since the epoch; -1 without a transaction."""
    producer_id: ProducerId = field(metadata={"kafka_type": "int64"})
    """The producer that may write."""
    producer_epoch: i16 = field(metadata={"kafka_type": "int16"})
    """Its epoch; earlier ones are fenced."""
    topics: tuple[TopicData, ...]
    """What the transaction has written to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTransactionsResponse:
    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(65)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """0."""
    transaction_states: tuple[TransactionState, ...]
    """One for each id."""
