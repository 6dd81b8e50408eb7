"""The longest duration measured in the last one to two minutes, by name.

Place: ``holds.py`` notes the steps of requests by API, ``loop_lag.py`` the passes of the loop. Never: reads a clock in
:meth:`RecentMaxima.note` (the caller has just read it), or keeps more than two figures for a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

RECENT_S: Final = 60.0
"""A figure is remembered for this long at least, and for twice this at most."""


class RecentMaxima:
    """See the module. ``now`` is a clock in seconds."""

    __slots__ = ("_before", "_longest", "_now", "_over_at")

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._longest: dict[str, float] = {}  # of this minute
        self._before: dict[str, float] = {}  # of the minute before
        self._over_at = now() + RECENT_S

    def note(self, name: str, took_s: float, now: float) -> None:
        if now >= self._over_at:
            self._before, self._longest = self._at(now)
            self._over_at = now + RECENT_S
        if took_s > self._longest.get(name, 0.0):
            self._longest[name] = took_s

    def longest(self) -> dict[str, float]:
        """In seconds, by name. Changes nothing; other threads than the thread that calls :meth:`note` may call it."""
        before, longest = self._at(self._now())
        found = dict(before)
        for name, took_s in longest.copy().items():
            found[name] = max(took_s, found.get(name, 0.0))
        return found

    def _at(self, now: float) -> tuple[dict[str, float], dict[str, float]]:
        """The figures of the minute before and of this minute, at the time ``now``. Once RECENT_S is over, this
        minute's figures become those of the minute before; older figures are dropped."""
        if now < self._over_at:
            return self._before, self._longest
        return (self._longest if now < self._over_at + RECENT_S else {}), {}
