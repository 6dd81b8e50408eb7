"""Turns: long work on the loop is done in slices, and each pass of the loop runs one slice of one long work.

Place: code that walks many items (a handler, a coordinator, the controller) makes a :class:`Turn` and awaits
``turn.give_way()`` between two items.
Invariants: all works that begin in one pass of the loop share its first slice, so work that ends within the rest of
that slice never waits. Longer work waits in one queue with all other long work; a pass of the loop resumes the work
that has waited longest, and no other. So a heartbeat, a timer or a new request waits for at most two slices, whether
one client asked for long work or a thousand did. Never: makes a task or a thread, reads any clock but the loop's (the
clock of the simulator's loop stands still while code runs, so no work gives way there), or bounds how much work a
request may ask for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from typing import TypeVar

    Item = TypeVar("Item")

TURN_S: Final = 0.005
"""A slice; a tenth of the 50 ms that nothing may hold the loop for, so that a single item may take longer."""


RUN: Final = 2000
"""Items that are sorted at once: 2 ms of text."""

AT_ONCE: Final = 256
"""Items of a run: half a slice, when an item takes 10 µs."""


class Turn:
    """The slices of one long work. Made when the work begins; used by one coroutine. ``check`` runs at each end of a
    slice, before the work goes on; an exception of ``check`` ends the work."""

    __slots__ = ("_check", "_loop", "_over_at")

    def __init__(self, check: Callable[[], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._over_at = _queue_of(self._loop).first_slice_over_at()
        self._check = check

    async def give_way(self) -> None:
        """Returns at once within the slice. When the slice is over, waits until all other work has had its turn; shared
        state that the work has read may have changed then."""
        if self._loop.time() >= self._over_at:
            await self.wait()

    async def wait(self) -> None:
        """Waits until all other work has had its turn, then begins the next slice."""
        await _queue_of(self._loop).wait()
        if self._check is not None:
            self._check()
        self._over_at = self._loop.time() + TURN_S

    async def each(self, items: Iterable[Item]) -> AsyncIterator[Item]:
        """The items, giving way between them."""
        for item in items:
            await self.give_way()
            yield item

    async def runs(self, items: Iterable[Item]) -> AsyncIterator[list[Item]]:
        """The items in lists of :data:`AT_ONCE`, giving way between the lists: for many items that take a few
        microseconds each, since :meth:`each` would double that time."""
        iterator = iter(items)
        while run := list(islice(iterator, AT_ONCE)):
            await self.give_way()
            yield run

    async def sorted(self, items: Iterable[Item]) -> list[Item]:
        """The items, sorted in runs of :data:`RUN`, giving way between the runs."""
        runs: list[list[Item]] = []
        iterator = iter(items)
        while run := sorted(islice(iterator, RUN)):  # type: ignore[type-var]
            runs.append(run)
            await self.give_way()
        if len(runs) < 2:
            return runs[0] if runs else []
        return [item async for item in self.each(merge(*runs))]  # type: ignore[type-var]


class _Queue:
    """Long works that wait for their next slice, the one that has waited longest first. It has no reference to its
    loop, which would never be let go: :data:`_queues` has the queue as long as the loop lives."""

    __slots__ = ("_first_over_at", "_is_scheduled", "_waiting")

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False
        self._first_over_at: float | None = None  # of the works that begin in this pass

    def first_slice_over_at(self) -> float:
        """When the slice ends that all works of this pass of the loop begin with."""
        if self._first_over_at is None:
            loop = asyncio.get_running_loop()
            self._first_over_at = loop.time() + TURN_S
            loop.call_soon(self._end_first_slice)
        return self._first_over_at

    def _end_first_slice(self) -> None:
        self._first_over_at = None

    async def wait(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self._schedule()
        await future

    def _schedule(self) -> None:
        if self._waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._resume_one)

    def _resume_one(self) -> None:
        self._is_scheduled = False
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():  # the work that waits may have been cancelled
                future.set_result(None)
                break
        self._schedule()


_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()


def _queue_of(loop: asyncio.AbstractEventLoop) -> _Queue:
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue()
    return queue
