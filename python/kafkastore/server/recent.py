"""The longest of what was measured in the last one to two minutes, by name.

Place: ``holds.py`` has the steps of requests by API, ``loop_lag.py`` the passes of the loop. Never: asks a clock while
something is noted (whoever measures has just done so), or takes more memory than there are names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RECENT_S: Final = 60.0
"""How long a figure is remembered, at least; at most twice that."""


class Recent:
    """See the module. ``now`` is a clock in seconds."""

    __slots__ = ("_before", "_longest", "_now", "_over_at")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._longest: dict[str, float] = {}  # of this minute
        self._before: dict[str, float] = {}  # of the one before
        self._over_at = now() + RECENT_S

    def note(self, name: str, took_s: float, now: float) -> None:
        if now >= self._over_at:
            self._before, self._longest = self._at(now)
            self._over_at = now + RECENT_S
        if took_s > self._longest.get(name, 0.0):
            self._longest[name] = took_s

    def longest(self) -> dict[str, float]:
        """In seconds, by name. Changes nothing, and may be called from other threads than the one that notes."""
        before, longest = self._at(self._now())
        found = dict(before)
        for name, took_s in longest.copy().items():
            found[name] = max(took_s, found.get(name, 0.0))
        return found

    def _at(self, now: float) -> tuple[dict[str, float], dict[str, float]]:
        """The minute before and this one: what is older than RECENT_S is of the minute before, nothing is left of
        older ones."""
        if now < self._over_at:
            return self._before, self._longest
        return (self._longest if now < self._over_at + RECENT_S else {}), {}
