"""What a request names more than once.

Kafka answers a name as often as it is named, and its clients name it once. So that a few bytes do not ask for
megabytes, what is answered again is bounded: beyond :data:`REPEATED_BYTES` in one answer a name that was answered
already gets INVALID_REQUEST. What is named once is answered whole, however long the answer is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore.errors import InvalidRequestError

if TYPE_CHECKING:
    from collections.abc import Hashable

REPEATED_BYTES: Final = 1 << 20


class Repeats:
    """Of one answer."""

    __slots__ = ("_bytes", "_seen")

    def __init__(self) -> None:
        self._seen: set[Hashable] = set()
        self._bytes = 0

    def check(self, name: Hashable) -> None:
        """Raises InvalidRequestError for a name that is not answered again."""
        if self._bytes > REPEATED_BYTES and name in self._seen:
            raise InvalidRequestError("The request names this too often: it is answered above.")

    def note(self, name: Hashable, answer_bytes: int) -> None:
        if name in self._seen:
            self._bytes += answer_bytes
        else:
            self._seen.add(name)
