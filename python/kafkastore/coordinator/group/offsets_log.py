"""Where a coordinator keeps its groups: the contracts. ``replicated_log`` is the real one, tests have one in memory.

Records are appended by callbacks, not coroutines: an append costs no task for its caller, and its order is plain.
Appends to one partition end in the order of the calls.

Committed offsets are the data plane's: it loads, keeps and serves them, and appends the tombstones of those that are to
go. What it must know of a group is its :class:`Lease`, which follows each decision in the step that takes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.coordinator.runtime.internal_log import AppendDone, Record


class Lease(Protocol):
    """What the data plane knows of a group. Nothing happens when the group's partition is another broker's."""

    def set_state(self, state: int, generation_id: int) -> None:
        """``state``: its index in ``states.STATES``."""

    def add_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Without a session."""

    def remove_member(self, member_id: str, group_instance_id: str | None) -> None: ...

    def replace_member(self, old_member_id: str, new_member_id: str, group_instance_id: str) -> None:
        """Nobody sees the group without one of the two."""

    def start_session(self, member_id: str, timeout_ms: int) -> None:
        """Of a member; each heartbeat and commit begins it anew. Its end is told once."""

    def cancel_session(self, member_id: str) -> None: ...

    def has_session(self, member_id: str) -> bool: ...

    def has_offsets(self) -> bool:
        """Committed, being committed, or in an open transaction."""

    def offset_topics(self) -> list[str]:
        """With committed offsets."""

    def release(self) -> None:
        """The group is gone. One that still has offsets is told as a new one."""


class LoadedGroups(Protocol):
    """What a partition had when it was loaded."""

    @property
    def records(self) -> Sequence[tuple[str, bytes]]:
        """(group id, value of its last record)."""

    @property
    def simple_groups(self) -> Sequence[str]:
        """With offsets, and without a record."""

    @property
    def unstable_groups(self) -> Sequence[str]:
        """With offsets of open transactions."""

    @property
    def skipped(self) -> int:
        """Records that say nothing here."""

    @property
    def skip_reason(self) -> str: ...


class AskedRemoval(NamedTuple):
    """Offsets of a group that somebody deletes, what is being committed too: of these partitions by topic, or all."""

    group_id: str
    topics: Sequence[tuple[str, Sequence[int]]] | None


class TopicRemoval(NamedTuple):
    """Offsets of a deleted topic in every group; those of one that was made since under the same name stay."""

    topic: str


class ExpiredRemoval(NamedTuple):
    """Offsets of a group whose time is over; nothing that is being committed."""

    group_id: str
    subscribed: frozenset[str]  # topics that stay
    now_ms: int
    retention_ms: int
    since_ms: int | None  # from when on; None: the time of each commit


Removal = AskedRemoval | TopicRemoval | ExpiredRemoval


class Removed(NamedTuple):
    """The next batch of tombstones."""

    append: Callable[[AppendDone], None] | None
    """Says when they are durable; none when nothing is left to go, or it failed."""

    is_kept: bool
    """Whether something of the group stays that is not to go."""

    has_more: bool = False
    """Whether more is to go than one batch holds."""

    error_code: int = ErrorCode.NONE
    """Towards a client."""


class OffsetsLog(Protocol):
    def partition_count(self) -> int:
        """Of ``__consumer_offsets``; ``offsets.topic.num.partitions`` while it does not exist."""

    def max_batch_bytes(self) -> int:
        """No batch whose keys and values have more bytes than this can be appended; maybe smaller ones neither."""

    def append(self, partition: int, records: Sequence[Record], done: AppendDone) -> None:
        """One batch, acks -1. The error code is the log's, not yet mapped to what groups answer."""

    def remove(self, partition: int, removal: Removal) -> Removed:
        """Appends tombstones of what goes next, one batch."""

    def begin(self, partition: int) -> int:
        """Requests for its groups are told that it loads. The number of this load. Raises KafkastoreError."""

    async def load(self, partition: int, number: int) -> LoadedGroups | None:
        """Reads what the log has when asked; nothing when the partition was begun anew, or closed. Raises
        KafkastoreError."""

    def lease(self, partition: int, number: int, group_id: str) -> Lease:
        """A new one: Empty, generation 0. Of a load that is over it is nobody's."""

    def activate(self, partition: int, number: int) -> None:
        """Requests for the groups of this load are served."""

    def close(self, partition: int) -> None:
        """Another broker has it."""

    def stop(self) -> None:
        """Nothing is served any more."""
