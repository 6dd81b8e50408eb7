"""How long requests hold the loop: the longest step of each API since the last :meth:`LoopHolds.look`.

Place: ``kafka_apis.py`` times each step of a request, from one wait to the next. ``loop_lag.py`` learns of each step of
:data:`NAMED_S` or more and names it when the loop was held for long.
Never: measures work that belongs to no request (the controller's own events, housekeeping), or time spent waiting.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from kafkastore.server.recent_maxima import RecentMaxima

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from kafkastore.server.loop_lag import LoopLag

NAMED_S: Final = 0.005
"""A slice of the loop."""


class LoopHolds:
    """See the module. ``now`` is a clock in seconds, ``lag`` the loop's LoopLag, where the loop has one."""

    __slots__ = ("_lag", "_longest", "_recent", "now")

    def __init__(self, now: Callable[[], float] = time.monotonic, lag: LoopLag | None = None) -> None:
        self.now = now
        self._lag = lag
        self._longest: dict[str, float] = {}
        self._recent = RecentMaxima(now)

    def recent(self) -> dict[str, float]:
        """By API the longest hold in seconds of the last one to two minutes. Does not change the result of
        :meth:`look`."""
        return self._recent.longest()

    def look(self) -> dict[str, float]:
        """By API the longest hold in seconds since the last look."""
        found, self._longest = self._longest, {}
        return found

    def note(self, api: str, began: float) -> float:
        """A step that began at this time of :attr:`now` has ended. Returns its seconds."""
        now = self.now()
        held_s = now - began
        if held_s > self._longest.get(api, 0.0):
            self._longest[api] = held_s
        self._recent.note(api, held_s, now)
        self.ran(api, held_s)
        return held_s

    def timed(
        self, api: str, work: Coroutine[Any, Any, Any], on_held: Callable[[float], None] | None = None
    ) -> _TimedSteps:
        """``work``, to be awaited once, each of its steps timed; ``on_held`` is called with the seconds of each."""
        return _TimedSteps(self, api, work, on_held)

    def ran(self, step: str, held_s: float) -> None:
        """A step of a request or of an event has run for ``held_s``."""
        if held_s >= NAMED_S and self._lag is not None:
            self._lag.ran(step, held_s)


class _TimedSteps:
    __slots__ = ("_api", "_holds", "_on_held", "_work")

    def __init__(
        self, holds: LoopHolds, api: str, work: Coroutine[Any, Any, Any], on_held: Callable[[float], None] | None
    ) -> None:
        self._on_held = on_held
        self._holds = holds
        self._api = api
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        holds, api, work = self._holds, self._api, self._work
        sent: Any = None
        error: BaseException | None = None
        try:
            while True:
                began = holds.now()
                try:
                    waits_for = work.send(sent) if error is None else work.throw(error)
                finally:
                    held_s = holds.note(api, began)
                    if self._on_held is not None:
                        self._on_held(held_s)
                sent, error = None, None
                try:
                    sent = yield waits_for
                except GeneratorExit:
                    work.close()
                    raise
                except BaseException as thrown:  # noqa: BLE001 - cancellation included: the work has to see it
                    error = thrown
        except StopIteration as finished:
            return finished.value
        finally:
            error = None  # a cycle else: the error keeps this frame, and the frame the error, with the work's objects
