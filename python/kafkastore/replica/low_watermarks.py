"""Waits until deleted records are gone from every replica that lives (DeleteRecords, KIP-107).

Place: a handler has moved the log starts of leaders here; followers take them over with their fetches, and the low
watermark, the least of all, rises. A waiting request is checked again when the data plane reports that a low watermark
may have moved, and when the set of live brokers changes: a replica whose broker is gone is not waited for. Invariants:
each wait ends once, at its deadline at the latest; a partition that has reached its offset, or has failed, is not
checked again. Never: moves a log start, or decides which brokers live.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Mapping

    from kafkastore._core import Engine, LowWatermarkMoved

INVALID_LOW_WATERMARK: Final = -1

Place = tuple[str, int]
"""Topic and partition."""


class _PendingDeletion:
    """One request: the offsets that it still waits for, and its answers as of now: (error code, low watermark)."""

    __slots__ = ("answers", "done", "left")

    def __init__(self, wanted: Mapping[Place, int], done: asyncio.Future[None]) -> None:
        self.left = dict(wanted)
        self.answers: dict[Place, tuple[int, int]] = {}
        self.done = done

    def end(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


class LowWatermarks:
    """See the module. Runs on the loop."""

    def __init__(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._waiting: dict[_PendingDeletion, None] = {}  # in the order of their arrival

    async def reach(self, wanted: Mapping[Place, int], timeout_ms: int) -> dict[Place, tuple[int, int]]:
        """(error code, low watermark) of each partition in ``wanted``, all of which this broker leads, as soon as their
        low watermarks have reached the offsets in ``wanted``. A partition that has not reached its offset after
        ``timeout_ms`` gets REQUEST_TIMED_OUT, with the low watermark that it had at first."""
        waiting = _PendingDeletion(wanted, self._loop.create_future())
        self._look(waiting, wanted)
        if waiting.left:
            self._waiting[waiting] = None
            deadline = self._loop.call_later(max(timeout_ms, 0) / 1000, waiting.end)
            try:
                await waiting.done
            finally:
                deadline.cancel()
                del self._waiting[waiting]
        return waiting.answers

    def on_moved(self, event: LowWatermarkMoved) -> None:
        """The data plane reports that the low watermark of one partition may have moved."""
        place = event.topic, event.partition
        for waiting in [one for one in self._waiting if place in one.left]:
            self._look(waiting, [place])

    def on_brokers(self) -> None:
        """The set of live brokers has changed, and the data plane has the new one."""
        for waiting in self._waiting:
            self._look(waiting, list(waiting.left))

    def _look(self, waiting: _PendingDeletion, places: Iterable[Place]) -> None:
        for place in places:
            offset = waiting.left[place]
            try:
                low_watermark = self._engine.watch_low_watermark(*place, offset)
            except EngineError as error:
                answer = error.code, INVALID_LOW_WATERMARK
            else:
                if low_watermark < offset:
                    waiting.answers.setdefault(place, (ErrorCode.REQUEST_TIMED_OUT, low_watermark))
                    continue
                answer = ErrorCode.NONE, low_watermark
            waiting.answers[place] = answer
            del waiting.left[place]
        if not waiting.left:
            waiting.end()
