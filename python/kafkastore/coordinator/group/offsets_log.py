"""Where a coordinator keeps its records: the contract. ``replicated_log`` is the real one, tests have one in memory.

The contract is callbacks, not coroutines: an append costs no task for its caller, and its order is plain. ``done`` is
called exactly once, on the loop, maybe before ``append`` returns. Appends to one partition finish in the order of the
calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.records import Record

OFFSETS_TOPIC: Final = "__consumer_offsets"

AppendDone = Callable[[int, int], None]  # (error code, offset of the first record or -1)
# (offset, key, value, producer id of its transaction or -1, what a control record says: "commit", "abort", "other")
LoadedRecord = tuple[int, bytes | None, bytes | None, int, str | None]


class OffsetsLog(Protocol):
    def partition_count(self) -> int:
        """Of ``__consumer_offsets``; ``offsets.topic.num.partitions`` while it does not exist."""

    def max_batch_bytes(self) -> int:
        """No batch whose keys and values have more bytes than this can be appended; maybe smaller ones neither."""

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        """One batch, acks -1. The error code is the log's, not yet mapped to what groups answer."""

    def load(self, partition: int) -> AsyncIterator[Sequence[LoadedRecord]]:
        """Every record that the log has when asked, in order, in chunks. Raises KafkastoreError."""


# What a failed append of group state is called towards a client (Kafka's CoordinatorOperationExceptionHelper).
_APPEND_ERRORS: Final = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def response_error(append_error: int) -> int:
    return _APPEND_ERRORS.get(append_error, append_error)
