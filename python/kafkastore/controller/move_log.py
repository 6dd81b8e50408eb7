"""The state changes of partitions and replicas in one event of the controller, for one line of the log.

Counts each kind of move and keeps the first names, so that a broker which dies with 100,000 partitions costs a line.
Decides nothing; no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from enum import Enum

NAMED: Final = 5
"""The most partitions or replicas that the line names for each kind of move."""


class MoveLog:
    """See the module. ``what`` is "partitions" or "replicas"."""

    def __init__(self) -> None:
        self._moves: dict[tuple[str, Enum, Enum], _Moves] = {}

    def note(self, what: str, before: Enum, after: Enum, topic: str, number: int, replica: int = -1) -> None:
        kind = what, before, after
        moves = self._moves.get(kind)
        if moves is None:
            moves = self._moves[kind] = _Moves()
        moves.count += 1
        if moves.count <= NAMED:
            moves.first.append(f"{topic}-{number}" if replica < 0 else f"{topic}-{number} on {replica}")

    def take(self) -> str:
        """All moves since the last call in one line; "" when there were none."""
        taken, self._moves = self._moves, {}
        return "; ".join(
            f"{moves.count} {what} {before.value} to {after.value} ({_names(moves)})"
            for (what, before, after), moves in taken.items()
        )


class _Moves:
    """The moves of one kind."""

    __slots__ = ("count", "first")

    def __init__(self) -> None:
        self.count = 0
        self.first: list[str] = []


def _names(moves: _Moves) -> str:
    more = moves.count - len(moves.first)
    return ", ".join(moves.first) + (f" and {more} more" if more else "")
