"""The control plane's loop measures how late it runs, and logs it."""

from __future__ import annotations

import asyncio
import re
import selectors
import sys
import time
import types
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from world import running_broker

from kafkastore.requests.context import RequestContext
from kafkastore.server.loop_lag import BOUNDS_S, LINES_APART_S, LONG_S, ControlLoop, LoopLag, lag_of
from kafkastore.server.recent_maxima import RECENT_S

from .test_kafka_apis import answered, heartbeat


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def watching(clock: Clock) -> LoopLag:
    lag = LoopLag(clock)
    lag.begin()
    return lag


def passes(lag: LoopLag, clock: Clock, *lengths_s: float) -> None:
    for length_s in lengths_s:
        began, clock.now_s = clock.now_s, clock.now_s + length_s
        lag.end_pass(began, clock.now_s)


def run_on_control_loop(clock: Clock, test: Callable[[ControlLoop], Awaitable[Any]]) -> LoopLag:
    loop = ControlLoop(clock)
    try:
        loop.run_until_complete(test(loop))
    finally:
        loop.close()
    return loop.lag


def test_each_pass_is_in_the_bucket_of_its_length() -> None:
    clock = Clock()
    lag = watching(clock)
    passes(lag, clock, BOUNDS_S[0] / 2, BOUNDS_S[0] / 2, BOUNDS_S[3] * 0.99, BOUNDS_S[-1] + 1)
    found = lag.passes()
    assert len(found.counts) == len(BOUNDS_S) + 1
    assert {at: count for at, count in enumerate(found.counts) if count} == {0: 2, 3: 1, len(BOUNDS_S): 1}
    assert found.sum_s == pytest.approx(BOUNDS_S[0] + BOUNDS_S[3] * 0.99 + BOUNDS_S[-1] + 1)


def test_longest_pass_is_kept_for_one_to_two_minutes_also_when_no_other_follows() -> None:
    clock = Clock()
    lag = watching(clock)
    passes(lag, clock, 0.02, 0.08, 0.01)
    assert lag.longest_s() == pytest.approx(0.08)
    clock.now_s += RECENT_S
    assert lag.longest_s() == pytest.approx(0.08), "the longest of the minute before"
    passes(lag, clock, 0.03)
    assert lag.longest_s() == pytest.approx(0.08)
    clock.now_s += RECENT_S
    assert lag.longest_s() == pytest.approx(0.03)
    clock.now_s += 2 * RECENT_S
    assert lag.longest_s() == 0


def test_long_pass_is_logged_with_its_longest_step(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lag = watching(clock)
    lag.ran("Heartbeat", 0.5)
    passes(lag, clock, LONG_S / 2)  # not long: the pass and its step are forgotten
    for step in (("Metadata", 0.02), ("CreateTopics", 0.17), ("JoinGroup", 0.01)):
        lag.ran(*step)
    passes(lag, clock, 0.25)
    clock.now_s += LINES_APART_S
    passes(lag, clock, 0.25)
    assert [record.getMessage() for record in caplog.records] == [
        "The control plane's loop was held for 250 ms (the longest step: CreateTopics, 170 ms)",
        "The control plane's loop was held for 250 ms"
        " (no request took long of it: timers, the controller, housekeeping or other processes)",
    ]


def test_long_passes_in_a_row_are_one_line_and_a_count(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lag = watching(clock)
    passes(lag, clock, *[LONG_S * 1.1] * 5)
    clock.now_s += LINES_APART_S
    passes(lag, clock, LONG_S * 1.1, LONG_S * 1.1)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert "since" not in lines[0]
    assert lines[1].endswith("; 4 times more since the last such line")


def test_loop_measures_from_the_end_of_a_wait_to_the_next_wait() -> None:
    clock = Clock()

    async def test(loop: ControlLoop) -> None:
        clock.now_s += 100  # before the broker serves
        loop.lag.begin()
        await asyncio.sleep(0)
        clock.now_s += 0.03
        await asyncio.sleep(0)

        def hold() -> None:  # a callback without a task
            clock.now_s += 0.07

        loop.call_soon(hold)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    lag = run_on_control_loop(clock, test)
    assert lag.longest_s() == pytest.approx(0.07)
    assert lag.passes().sum_s == pytest.approx(0.1)


def test_time_in_which_the_loop_waits_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    select = selectors.DefaultSelector.select

    def slow(selector: Any, timeout: float | None = None) -> Any:
        clock.now_s += 10
        return select(selector, timeout)

    async def test(loop: ControlLoop) -> None:
        loop.lag.begin()
        for _ in range(5):
            await asyncio.sleep(0)

    monkeypatch.setattr(selectors.DefaultSelector, "select", slow)
    lag = run_on_control_loop(clock, test)
    assert (lag.longest_s(), sum(lag.passes().counts)) == (0, 5)


def test_loop_at_rest_is_not_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement with timers would wake the loop up."""
    timeouts: list[float | None] = []

    async def test(loop: ControlLoop) -> None:
        loop.lag.begin()
        for _ in range(3):
            await asyncio.sleep(0)
        at_rest = loop.create_future()

        def select(_: Any, timeout: float | None = None) -> list[Any]:
            timeouts.append(timeout)
            if timeout != 0:
                loop.call_soon(at_rest.set_result, None)
            return []

        monkeypatch.setattr(selectors.DefaultSelector, "select", select)
        await at_rest

    run_on_control_loop(Clock(), test)
    assert timeouts[0] is None, "nothing is due, ever"


def test_loop_of_another_program_is_not_watched() -> None:
    async def body() -> Any:
        return lag_of(asyncio.get_running_loop())

    assert asyncio.run(body()) is None


def test_request_that_holds_the_loop_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    module: Any = types.ModuleType("kafkastore.handlers.heartbeat")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    async def handle(context: RequestContext, _: Any) -> Any:
        over_at = time.monotonic() + LONG_S
        while time.monotonic() < over_at:
            pass
        return context.answer(error_code=0)

    module.handle = handle

    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            await answered(broker, heartbeat())
            await asyncio.sleep(0)
            lag = broker.observed().lag
            assert lag is not None
            assert lag.longest_s() >= LONG_S

    with asyncio.Runner(loop_factory=ControlLoop) as runner:
        runner.run(body())
    lines = [record.getMessage() for record in caplog.records if record.name == "kafkastore.server.loop_lag"]
    assert any(re.search(r"\(the longest step: Heartbeat, \d+ ms", line) for line in lines), lines
