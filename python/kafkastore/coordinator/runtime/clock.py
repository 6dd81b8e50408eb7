"""The clock of a running broker: wall time for records, the loop's time for timers. Both come from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from kafkastore.purgatory.timer import Wake


class LoopClock:
    """A :class:`kafkastore.purgatory.timer.Clock`."""

    __slots__ = ("loop", "now_ms")

    def __init__(self, loop: asyncio.AbstractEventLoop, now_ms: Callable[[], int]) -> None:
        self.loop = loop
        self.now_ms = now_ms

    def monotonic_ms(self) -> int:
        return int(self.loop.time() * 1000)

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> Wake:
        # half a millisecond later, so that ``monotonic_ms`` has reached the deadline whatever the rounding
        return self.loop.call_at(deadline_ms / 1000 + 0.0005, callback)
