"""An event that rests after each run, so that its runs take a small part of the controller's time.

Each topic that is created or deleted fires the watch of ``/brokers/topics``, whose names are then read whole: with
thousands of topics that costs more than the creation. During a rest the watch needs no setting: the next run reads all
names. This module knows nothing of what the event does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from kafkastore.controller.term import Term

    Run = Callable[[Term], Awaitable[Any]]

REST_FACTOR: Final = 19
"""A rest is so many times as long as the run before it: the runs take a twentieth of the time."""

LONGEST_REST_S: Final = 1.0
"""The longest time until a topic that another client of the store created is found."""


class PacedEvent:
    """See the module. ``run`` is the event; ``put(run)`` puts it into the queue of events. Runs on the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run: Run, put: Callable[[Run], None]) -> None:
        self._loop = loop
        self._run = run
        self._put = put
        self._rests_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def tell(self) -> None:
        """Puts the event into the queue, now or when the rest is over."""
        if self._timer is not None:
            return
        if self._loop.time() >= self._rests_until:
            self._put(self.run)
        else:
            self._timer = self._loop.call_at(self._rests_until, self._on_rested)

    async def run(self, term: Term) -> None:
        began = self._loop.time()
        try:
            await self._run(term)
        finally:
            ended = self._loop.time()
            self._rests_until = ended + min(REST_FACTOR * (ended - began), LONGEST_REST_S)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_rested(self) -> None:
        self._timer = None
        self._put(self.run)
