"""The contracts of the log in which a coordinator keeps its groups. ``replicated_log`` implements them for a running
broker; tests have an implementation in memory.

Records are appended by callbacks, not coroutines: an append needs no task of its caller, and its order is clear.
Appends to one partition end in the order of the calls.

The data plane owns the committed offsets: it loads, keeps and serves them, and appends the tombstones of offsets that
are removed. It knows of a group what the group's :class:`GroupLease` says, which the coordinator updates in the same
step in which it decides a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.coordinator.runtime.internal_log import AppendDone, Record


class GroupLease(Protocol):
    """The data plane's view of a group. Calls have no effect when another broker has the group's partition."""

    def set_state(self, state: int, generation_id: int) -> None:
        """Sets the group's state, by its index in ``states.STATES``, and its generation."""

    def add_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Adds a member without a session."""

    def remove_member(self, member_id: str, group_instance_id: str | None) -> None: ...

    def replace_member(self, old_member_id: str, new_member_id: str, group_instance_id: str) -> None:
        """Replaces the member in one step: no request sees the group without one of the two member ids."""

    def start_session(self, member_id: str, timeout_ms: int) -> None:
        """Starts the session of a member; each heartbeat and commit restarts it. Its expiry is reported once."""

    def cancel_session(self, member_id: str) -> None: ...

    def has_session(self, member_id: str) -> bool: ...

    def has_offsets(self) -> bool:
        """Whether the group has offsets: committed, being committed, or in an open transaction."""

    def offset_topics(self) -> list[str]:
        """The topics with committed offsets."""

    def release(self) -> None:
        """The group was removed. If it still has offsets, the data plane reports it as a new group."""


class LoadedGroups(Protocol):
    """The groups that the log of a partition had when it was loaded."""

    @property
    def records(self) -> Sequence[tuple[str, bytes]]:
        """(group id, value of its last record)."""

    @property
    def simple_groups(self) -> Sequence[str]:
        """The ids of groups with offsets and without a group record."""

    @property
    def unstable_groups(self) -> Sequence[str]:
        """The ids of groups with offsets of open transactions."""

    @property
    def skipped(self) -> int:
        """The number of records that were skipped."""

    @property
    def skip_reason(self) -> str: ...


class OffsetDeletion(NamedTuple):
    """Offsets of a group that a client deletes, with those being committed: of these partitions by topic, or all when
    ``topics`` is None."""

    group_id: str
    topics: Sequence[tuple[str, Sequence[int]]] | None


class TopicOffsetDeletion(NamedTuple):
    """Offsets of a deleted topic in every group; those of a newer topic of the same name stay."""

    topic: str


class OffsetExpiration(NamedTuple):
    """Offsets of a group whose retention time is over; offsets that are being committed stay."""

    group_id: str
    subscribed: frozenset[str]  # topics whose offsets stay
    now_ms: int
    retention_ms: int
    since_ms: int | None  # when the retention time began; None: at each commit


Removal = OffsetDeletion | TopicOffsetDeletion | OffsetExpiration


class TombstoneBatch(NamedTuple):
    """The next batch of tombstones."""

    append: Callable[[AppendDone], None] | None
    """Calls back when the tombstones are durable. None when no offset is left to remove, or the append failed."""

    is_kept: bool
    """Whether the group keeps offsets that this removal does not remove."""

    has_more: bool = False
    """Whether more offsets are to be removed than this batch holds."""

    error_code: int = ErrorCode.NONE
    """The error code for the client."""


class OffsetsLog(Protocol):
    def partition_count(self) -> int:
        """Among how many partitions of ``__consumer_offsets`` groups are placed; ``offsets.topic.num.partitions`` while
        it does not exist."""

    def is_known(self) -> bool:
        """Whether the broker knows ``__consumer_offsets``; the controller may have told it to lead a partition
        before."""

    def max_batch_bytes(self) -> int:
        """A batch whose keys and values have more bytes than this cannot be appended; a smaller batch may fail too."""

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        """Appends one batch with acks -1. The error code is the log's, not yet mapped to the one for clients."""

    def remove(self, partition: int, removal: Removal) -> TombstoneBatch:
        """Appends the next batch of tombstones of the removal."""

    def begin(self, partition: int) -> int:
        """Begins a load; from now on requests for the partition's groups are answered that it loads. Returns the number
        of the load. Raises KafkastoreError."""

    async def load(self, partition: int, number: int) -> LoadedGroups | None:
        """Reads the log as it is at the call. Returns None when the partition was begun anew, or closed. Raises
        KafkastoreError."""

    def lease(self, partition: int, number: int, group_id: str) -> GroupLease:
        """Makes a new lease: Empty, generation 0. A lease of a load that is over has no effect."""

    def activate(self, partition: int, number: int) -> None:
        """From now on requests for the groups of this load are served."""

    def close(self, partition: int) -> None:
        """Ends service of the partition, which another broker has now."""

    def stop(self) -> None:
        """Ends the service of all groups."""
