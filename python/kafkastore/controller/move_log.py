"""What partitions and replicas went through in one event of the controller, for one line of the log (spec R2.6).

Counts each kind of move and keeps the first names, so that a broker which dies with 100,000 partitions costs a line.
Decides nothing; no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from enum import Enum

NAMED: Final = 5
"""Of each kind of move."""


class MoveLog:
    """See the module. ``what`` is "partitions" or "replicas"."""

    def __init__(self) -> None:
        self._moves: dict[tuple[str, Enum, Enum], list[str]] = {}
        self._counts: dict[tuple[str, Enum, Enum], int] = {}

    def note(self, what: str, before: Enum, after: Enum, topic: str, number: int, replica: int = -1) -> None:
        kind = what, before, after
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= NAMED:
            name = f"{topic}-{number}" if replica < 0 else f"{topic}-{number} on {replica}"
            self._moves.setdefault(kind, []).append(name)

    def take(self) -> str:
        """All moves since the last call in one line; "" when there were none."""
        if not self._counts:
            return ""
        counts, moves = self._counts, self._moves
        self._counts, self._moves = {}, {}
        return "; ".join(
            f"{count} {what} {before.value} to {after.value} ({_names(moves[what, before, after], count)})"
            for (what, before, after), count in counts.items()
        )


def _names(first: list[str], count: int) -> str:
    return ", ".join(first) + (f" and {count - len(first)} more" if count > len(first) else "")
