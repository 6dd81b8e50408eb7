"""Bounds the answers to names that a request has more than once.

Kafka answers a name as often as the request has it, and its clients send each name once. So that a request of a few
bytes does not get an answer of megabytes, repeated rows are bounded: beyond :data:`REPEATED_BYTES` of them in one
answer, a name that was answered already gets INVALID_REQUEST. The first row of a name is never refused, however long
the answer is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Hashable

REPEATED_BYTES: Final = 1 << 20


class Repeats:
    """The names that one answer has so far."""

    __slots__ = ("_bytes", "_seen")

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()
        self._bytes = 0

    def check(self, name: Hashable) -> None:
        """Raises InvalidRequestError for a repeated name when the bound is reached."""
        if self._bytes > REPEATED_BYTES and name in self._seen:
            raise InvalidRequestError("The request names this too often: it is answered above.")

    def note(self, name: Hashable, answer_bytes: int) -> None:
        if name in self._seen:
            self._bytes += answer_bytes
        else:
            self._seen.add(name)
