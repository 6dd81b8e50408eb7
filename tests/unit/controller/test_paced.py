"""An event that rests after each run (growth of administrative requests)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kafkastore.controller.paced import LONGEST_REST_S, REST_FACTOR, PacedEvent


class Clock:
    """A loop's clock and timers; ``pass_to`` fires the timers that are due."""

    def __init__(self) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> Any:
        self.timers.append((when, callback))
        return self

    def cancel(self) -> None:
        self.timers.clear()

    def pass_to(self, now: float) -> None:
        self.now = now
        due = [callback for when, callback in self.timers if when <= now]
        self.timers = [one for one in self.timers if one[0] > now]
        for callback in due:
            callback()


def paced(clock: Clock, run_s: float) -> tuple[PacedEvent, list[float]]:
    """An event whose run takes ``run_s``, and the times at which it was put into the queue."""
    put: list[float] = []

    async def run(_: Any) -> None:
        clock.now += run_s

    return PacedEvent(clock, run, lambda _: put.append(clock.now)), put  # type: ignore[arg-type]


def test_first_event_is_put_at_once_and_the_next_after_a_rest_as_one() -> None:
    clock = Clock()
    event, put = paced(clock, 0.01)
    event.tell()
    asyncio.run(event.run(None))  # type: ignore[arg-type]
    ended = clock.now
    for _ in range(3):
        event.tell()
    clock.pass_to(ended + 0.01 * REST_FACTOR - 0.001)
    assert put == [100.0]
    clock.pass_to(ended + 0.01 * REST_FACTOR + 0.001)
    assert len(put) == 2
    clock.pass_to(clock.now + 10)
    assert len(put) == 2, "the three events are one"


def test_rest_after_a_long_run_has_a_limit() -> None:
    clock = Clock()
    event, put = paced(clock, 5.0)
    asyncio.run(event.run(None))  # type: ignore[arg-type]
    event.tell()
    clock.pass_to(clock.now + LONGEST_REST_S + 0.001)
    assert len(put) == 1


def test_event_after_the_rest_is_put_at_once() -> None:
    clock = Clock()
    event, put = paced(clock, 0.01)
    asyncio.run(event.run(None))  # type: ignore[arg-type]
    clock.now += 0.01 * REST_FACTOR + 0.001
    event.tell()
    assert put == [clock.now]


def test_stopped_event_is_not_put_when_its_rest_is_over() -> None:
    clock = Clock()
    event, put = paced(clock, 0.01)
    asyncio.run(event.run(None))  # type: ignore[arg-type]
    event.tell()
    event.stop()
    clock.pass_to(clock.now + 10)
    assert put == []
