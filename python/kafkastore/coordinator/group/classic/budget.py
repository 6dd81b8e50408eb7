"""The limits of the bytes that members may make this broker keep: protocol metadata, names, and a fixed size for each
member.

Place: ``Group`` counts the bytes; ``join`` checks the limits before a member joins or changes its metadata.
The bytes of the group's record in ``__consumer_offsets`` are *backed*: the record is on the disk, bounded by
``max.message.bytes``, and must be kept. Members hold more than that: metadata of a generation that is not complete,
metadata of protocols that were not selected, ids that were handed out and not used. These bytes cost a client nothing
to send, so they are bounded for each group, and for all groups together. Invariant: ``Budget.unstored_bytes`` is the
sum over all groups of the bytes beyond the backed ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MEMBER_BYTES: Final = 512  # of a member or of an id that was handed out: objects, timer, places in tables
PROTOCOL_BYTES: Final = 64  # of each protocol that a member names
BACKED_MEMBER_BYTES: Final = MEMBER_BYTES + 8 * PROTOCOL_BYTES
BACKED_RATIO: Final = 4
"""Members name the selected protocol and others (two in Kafka's clients, each with the same metadata), so a group may
hold this many times the bytes of its record before its bytes count as unstored."""


def member_bytes(names: Iterable[str | None], protocols: Iterable[tuple[str, bytes]]) -> int:
    """``names``: ids, client id, host."""
    size = MEMBER_BYTES + sum(len(name) for name in names if name)
    for name, metadata in protocols:
        size += PROTOCOL_BYTES + len(name) + len(metadata)
    return size


class Budget:
    __slots__ = ("group_max_bytes", "unstored_bytes", "unstored_max_bytes")

    def __init__(self, group_max_bytes: int, unstored_max_bytes: int) -> None:
        self.group_max_bytes = group_max_bytes
        self.unstored_max_bytes = unstored_max_bytes
        self.unstored_bytes = 0


class GroupMemory:
    """The bytes that one group holds."""

    __slots__ = ("_backed_bytes", "_budget", "held_bytes", "unstored_bytes")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._backed_bytes = 0
        self.held_bytes = 0
        self.unstored_bytes = 0

    def change(self, bytes_more: int) -> None:
        self.held_bytes += bytes_more
        self._recount()

    def back(self, record_bytes: int, members: int) -> None:
        """Notes that the log has a record of the group, with this size and so many members."""
        self._backed_bytes = BACKED_RATIO * record_bytes + BACKED_MEMBER_BYTES * members
        self._recount()

    def release(self) -> None:
        """Releases all bytes, as the group is removed."""
        self.held_bytes = 0
        self._recount()

    def fits_group(self, bytes_more: int) -> bool:
        """Whether the group's limit allows this many bytes more. A group may always hold its backed bytes, whatever
        the limit."""
        held = self.held_bytes + bytes_more
        return bytes_more <= 0 or held <= max(self._budget.group_max_bytes, self._backed_bytes)

    def fits_all(self, bytes_more: int) -> bool:
        """Whether the limit of all groups together allows this many bytes more. A group may always hold its backed
        bytes, whatever the other groups hold."""
        more = max(self.held_bytes + bytes_more - self._backed_bytes, 0) - self.unstored_bytes
        return more <= 0 or self._budget.unstored_bytes + more <= self._budget.unstored_max_bytes

    def _recount(self) -> None:
        unstored = max(self.held_bytes - self._backed_bytes, 0)
        self._budget.unstored_bytes += unstored - self.unstored_bytes
        self.unstored_bytes = unstored
