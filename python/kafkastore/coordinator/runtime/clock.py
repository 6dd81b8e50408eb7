"""The clock of a running broker: wall time for records, the loop's time for timers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kafkastore.purgatory.timer import Wake


class LoopClock:
    """A :class:`kafkastore.purgatory.timer.Clock`."""

    __slots__ = ("loop",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        return int(self.loop.time() * 1000)

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> Wake:
        # half a millisecond later, so that ``monotonic_ms`` has reached the deadline whatever the rounding
        return self.loop.call_at(deadline_ms / 1000 + 0.0005, callback)
