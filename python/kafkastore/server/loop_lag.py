"""How late the control plane's loop runs: how long each pass of the loop took.

Place: the command runs its broker on a :class:`ControlLoop`, whose selector sees each pass from its beginning
(``select`` returns) to its end (``select`` is called again). A timer or an event that is due within a pass waits for
the rest of it, so the longest pass is the longest delay. ``holds.py`` and ``kafka_apis.py`` name the step that ran
longest in a pass; ``metrics.py`` shows the figures. Invariants: the figures never take more memory. Nothing is
measured before :meth:`LoopLag.begin`: passes during the start of a broker may be long. Never: asks the loop for a
wake-up, so an idle broker stays idle; watches a loop that is no :class:`ControlLoop` (of a program that runs brokers of
its own, of the simulator), since asyncio has no hook into an existing loop.
"""

from __future__ import annotations

import logging
import selectors
import socket
import time
from bisect import bisect_left
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.purgatory.hanging_calls import HangingCalls
from kafkastore.server.event_loop import asyncio
from kafkastore.server.recent_maxima import RecentMaxima

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("kafkastore.server.loop_lag")

BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the histogram's buckets; one more bucket has no bound. Nothing may hold the loop for longer than 50
ms."""

LONG_S: Final = 0.1
"""A longer pass is logged: twice the 50 ms that nothing may hold the loop for."""

LINES_APART_S: Final = 10.0
"""The least time between two log lines. Long passes in between are counted, and the next line has their number."""

UNNAMED: Final = "no request took long of it: timers, the controller, housekeeping or other processes"


NAMES_AT_ONCE: Final = 32
"""More than a cluster has brokers whose names are looked up again and again while they are away."""

_LAG: Final = "lag"


class LoopPasses(NamedTuple):
    """All passes since the broker began to serve."""

    counts: tuple[int, ...]
    """By bucket, the last of which has no upper bound; not cumulative."""
    sum_s: float


class LoopLag:
    """See the module. ``now`` is a clock in seconds."""

    __slots__ = (
        "_counts",
        "_left_out",
        "_next_line_at",
        "_recent",
        "_step",
        "_step_s",
        "_sum_s",
        "is_watching",
    )

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.is_watching = False
        self._counts = [0] * (len(BOUNDS_S) + 1)
        self._sum_s = 0.0
        self._recent = RecentMaxima(now)
        self._next_line_at = 0.0
        self._left_out = 0
        self._step, self._step_s = "", 0.0

    def begin(self) -> None:
        """The broker serves from now on."""
        self.is_watching = True
        self._step_s = 0.0  # steps that ran before do not belong to the first pass

    def longest_s(self) -> float:
        """The longest pass of the last one to two minutes."""
        return self._recent.longest().get(_LAG, 0.0)

    def passes(self) -> LoopPasses:
        return LoopPasses(tuple(self._counts), self._sum_s)

    def ran(self, step: str, held_s: float) -> None:
        """A step of a request or an event ran in this pass; the log line of a long pass names the longest step."""
        if held_s > self._step_s:
            self._step, self._step_s = step, held_s

    def end_pass(self, began: float, now: float) -> None:
        """Called by the selector at the end of each pass."""
        pass_s = now - began
        self._counts[bisect_left(BOUNDS_S, pass_s)] += 1
        self._sum_s += pass_s
        self._recent.note(_LAG, pass_s, now)
        if pass_s > LONG_S:
            self._tell(pass_s, now)
        self._step_s = 0.0

    def _tell(self, pass_s: float, now: float) -> None:
        if now < self._next_line_at:
            self._left_out += 1
            return
        logger.warning(
            "The control plane's loop was held for %d ms (%s)%s",
            pass_s * 1000,
            f"the longest step: {self._step}, {self._step_s * 1000:.0f} ms" if self._step_s else UNNAMED,
            f"; {self._left_out} times more since the last such line" if self._left_out else "",
        )
        self._next_line_at, self._left_out = now + LINES_APART_S, 0


class ControlLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop; ``lag`` is how late it runs. A name server that does not answer takes no thread of its pool,
    which makes logs and loads groups."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.lag = LoopLag(now)
        self._name_servers = HangingCalls(NAMES_AT_ONCE)
        super().__init__(_WatchedSelector(self.lag, now))

    async def getaddrinfo(self, host: Any, port: Any, **how: int) -> Any:
        return await self._name_servers.call(partial(socket.getaddrinfo, host, port, **how))


def lag_of(loop: asyncio.AbstractEventLoop) -> LoopLag | None:
    return loop.lag if isinstance(loop, ControlLoop) else None


class _WatchedSelector(selectors.DefaultSelector):
    def __init__(self, lag: LoopLag, now: Callable[[], float]) -> None:
        super().__init__()
        self._lag = lag
        self._now = now
        self._began: float | None = None  # when the pass began; None before the first pass that is measured

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        lag, now = self._lag, self._now
        if self._began is not None:
            lag.end_pass(self._began, now())
        ready = super().select(timeout)
        if lag.is_watching:
            self._began = now()
        return ready
