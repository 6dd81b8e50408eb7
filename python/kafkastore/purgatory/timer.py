"""Timers of the control plane: one heap, one wake-up, time passed in.

Place: coordinators start and postpone timers; the loop (or a test) calls back when the earliest is due.
Invariants: a timer fires at most once for each ``start``; never before its deadline; timers that are due together fire
in the order of their deadlines. When many are due, a call ends after ``SLICE_MS`` and asks to be called again at once:
in between, the loop serves other work. Postponing a running timer, as each heartbeat does, leaves the heap as it is:
the old entry stays, and is put back at the later deadline when it comes up. So a heartbeat costs O(1) and a firing
O(log n). Never: reads a clock of its own, sleeps, or makes a task.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Wake(Protocol):
    """A wake-up that was asked for; asyncio's TimerHandle is one."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """Time, as the broker's loop or a test gives it."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since 1970; may jump. For timestamps in records."""

    def monotonic_ms(self) -> int:
        """Never goes back. For timeouts."""

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> Wake:
        """Calls back once, not before ``deadline_ms`` of ``monotonic_ms``."""


SLICE_MS: Final = 5
"""How long one call of ``run_due`` fires timers: a tenth of the 50 ms that nothing may hold the loop for."""
MIN_COMPACTION: Final = 1024  # entries; below this, dead entries are not worth a rebuild


class Timer:
    """One thing that may happen later. Reusable: ``start`` again moves the deadline."""

    __slots__ = ("_timers", "callback", "deadline_ms", "entry_ms", "entry_number")

    def __init__(self, timers: Timers, callback: Callable[[], None]) -> None:
        self._timers = timers
        self.callback = callback
        self.deadline_ms = -1  # of the monotonic clock; -1: not running
        self.entry_ms = -1  # deadline of the heap entry that counts; -1: none
        self.entry_number = -1

    @property
    def is_running(self) -> bool:
        return self.deadline_ms >= 0

    def start(self, delay_ms: int) -> None:
        """(Re)starts: fires once, ``delay_ms`` from now (at once if negative). Replaces an earlier deadline."""
        timers = self._timers
        deadline_ms = timers.clock.monotonic_ms() + max(delay_ms, 0)
        if self.deadline_ms < 0 and self.entry_ms >= 0:
            timers.dead -= 1
        self.deadline_ms = deadline_ms
        if self.entry_ms < 0 or deadline_ms < self.entry_ms:
            timers.push(self, deadline_ms)

    def cancel(self) -> None:
        """Does not fire any more. Harmless when not running."""
        if self.deadline_ms >= 0:
            self.deadline_ms = -1
            self._timers.dead += 1
            self._timers.compact()


class Timers:
    """The heap of every running timer. Entries are (deadline, number, timer); an entry is void when its number is not
    the ``entry_number`` of its timer."""

    __slots__ = ("_heap", "_number", "_wake", "_wake_ms", "clock", "dead")

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.dead = 0  # entries in the heap that will not fire
        self._heap: list[tuple[int, int, Timer]] = []
        self._number = 0
        self._wake: Wake | None = None
        self._wake_ms = -1

    def __len__(self) -> int:
        """Entries in the heap, dead ones included."""
        return len(self._heap)

    def timer(self, callback: Callable[[], None]) -> Timer:
        return Timer(self, callback)

    def push(self, timer: Timer, deadline_ms: int) -> None:
        if timer.entry_ms >= 0:
            self.dead += 1  # the later entry is void from now on
        self._number += 1
        timer.entry_ms = deadline_ms
        timer.entry_number = self._number
        heapq.heappush(self._heap, (deadline_ms, self._number, timer))
        if self._wake is None or deadline_ms < self._wake_ms:
            self._ask_for_wake(deadline_ms)

    def compact(self) -> None:
        """Drops dead entries once they are most of the heap, so that members that come and go cannot grow the heap."""
        if self.dead < MIN_COMPACTION or self.dead * 2 < len(self._heap):
            return
        alive = []
        for entry in self._heap:
            timer = entry[2]
            if timer.entry_number != entry[1]:
                continue
            if timer.deadline_ms < 0:
                timer.entry_ms = -1
            else:
                alive.append(entry)
        heapq.heapify(alive)
        self._heap = alive
        self.dead = 0

    def run_due(self) -> None:
        """Fires the timers that are due, for ``SLICE_MS`` at most. Timers that the callbacks start fire in a later
        call, so that a call always ends."""
        self._wake = None
        now_ms = self.clock.monotonic_ms()
        last_number = self._number
        while self._heap and self._heap[0][0] <= now_ms and self._heap[0][1] <= last_number:
            _, number, timer = heapq.heappop(self._heap)
            if timer.entry_number != number:
                self.dead -= 1
            elif timer.deadline_ms < 0:
                self.dead -= 1
                timer.entry_ms = -1
            elif timer.deadline_ms > now_ms:
                timer.entry_ms = -1
                self.push(timer, timer.deadline_ms)
            else:
                timer.entry_ms = -1
                timer.deadline_ms = -1
                timer.callback()
                if self.clock.monotonic_ms() - now_ms >= SLICE_MS:
                    break
        if self._heap and (self._wake is None or self._heap[0][0] < self._wake_ms):
            self._ask_for_wake(self._heap[0][0])

    def close(self) -> None:
        """Stops all timers: none fires any more."""
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        for _, _, timer in self._heap:
            timer.deadline_ms = timer.entry_ms = timer.entry_number = -1
        self._heap.clear()
        self.dead = 0

    def _ask_for_wake(self, deadline_ms: int) -> None:
        if self._wake is not None:
            self._wake.cancel()
        self._wake_ms = deadline_ms
        self._wake = self.clock.call_at(deadline_ms, self.run_due)
