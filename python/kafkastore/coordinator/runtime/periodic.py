"""Periodic work: a pass of steps, then a pause, until it is stopped. A bug in one pass is logged and does not end the
later passes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from kafkastore.coordinator.runtime.steps import Steps
    from kafkastore.purgatory.timer import Timers

logger = logging.getLogger("kafkastore.coordinator.runtime")


class Periodic:
    """See the module. Runs on the loop."""

    __slots__ = ("_interval_ms", "_is_running", "_name", "_run", "_start", "_steps", "_timer")

    def __init__(
        self,
        name: str,
        interval_ms: int,
        steps: Callable[[], Steps[None]],
        timers: Timers,
        run: Callable[[Steps[None]], Awaitable[None]],
        start: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        """``name`` names the work in the log line about a pass that failed. ``steps`` makes the steps of one pass.
        ``run`` and ``start``: see ``Elections``."""
        self._name = name
        self._interval_ms = interval_ms
        self._steps = steps
        self._run = run
        self._start = start
        self._is_running = False
        self._timer = timers.timer(lambda: self._start(self._pass()))

    def begin(self) -> None:
        """The first pass comes after one pause."""
        self._is_running = True
        self._timer.start(self._interval_ms)

    def stop(self) -> None:
        """Stops further passes; a pass that runs ends by itself."""
        self._is_running = False
        self._timer.cancel()

    async def _pass(self) -> None:
        try:
            await self._run(self._steps())
        except Exception:
            logger.exception("%s failed; the next pass tries again", self._name)
        if self._is_running:
            self._timer.start(self._interval_ms)
