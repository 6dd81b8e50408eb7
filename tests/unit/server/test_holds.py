"""The loop measures how long requests hold it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from kafkastore.server.holds import NAMED_S, LoopHolds
from kafkastore.server.recent_maxima import RECENT_S


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def held(holds: LoopHolds, clock: Clock, api: str, held_s: float) -> None:
    began = clock.now_s
    clock.now_s += held_s
    holds.note(api, began)


def test_longest_step_of_each_api_is_kept_until_it_is_read() -> None:
    clock = Clock()
    holds = LoopHolds(clock)
    for api, held_s in (("Heartbeat", 0.001), ("DescribeConfigs", 0.02), ("DescribeConfigs", 0.01)):
        held(holds, clock, api, held_s)
    assert holds.look() == {"Heartbeat": pytest.approx(0.001), "DescribeConfigs": pytest.approx(0.02)}
    assert holds.look() == {}


def test_steps_are_timed_without_their_waits() -> None:
    clock = Clock()
    named: list[tuple[str, float]] = []
    lag: Any = SimpleNamespace(ran=lambda step, held_s: named.append((step, held_s)))
    holds = LoopHolds(clock, lag)

    async def work() -> str:
        clock.now_s += NAMED_S * 0.9
        await asyncio.sleep(0)
        clock.now_s += 0.11
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            clock.now_s += 0.02
            return "done"
        raise AssertionError

    async def run() -> Any:
        async def timed() -> Any:
            return await holds.timed("DescribeConfigs", work())

        task = asyncio.ensure_future(timed())
        await asyncio.sleep(0)
        clock.now_s += 1000
        await asyncio.sleep(0)
        clock.now_s += 1000
        task.cancel()
        return await task

    assert asyncio.run(run()) == "done"
    assert holds.look() == {"DescribeConfigs": pytest.approx(0.11)}
    assert named == [("DescribeConfigs", pytest.approx(0.11)), ("DescribeConfigs", pytest.approx(0.02))]


def test_recent_holds_are_kept_for_one_to_two_minutes() -> None:
    clock = Clock()
    holds = LoopHolds(clock)
    held(holds, clock, "Heartbeat", 0.02)
    holds.look()
    assert holds.recent() == {"Heartbeat": pytest.approx(0.02)}
    clock.now_s += RECENT_S
    held(holds, clock, "Heartbeat", 0.01)
    assert holds.recent() == {"Heartbeat": pytest.approx(0.02)}, "the longer one of the minute before"
    clock.now_s += RECENT_S
    assert holds.recent() == {"Heartbeat": pytest.approx(0.01)}
    clock.now_s += 2 * RECENT_S
    assert holds.recent() == {}


def test_error_thrown_into_work_is_not_kept() -> None:
    class TellTaleError(Exception):
        pass

    async def work() -> None:
        await asyncio.get_running_loop().create_future()

    def told() -> weakref.ref[TellTaleError]:
        error = TellTaleError()
        steps = LoopHolds(Clock()).timed("Heartbeat", work()).__await__()
        next(steps)
        reference = weakref.ref(error)
        try:
            with contextlib.suppress(TellTaleError):
                steps.throw(error)
        finally:
            del error
        return reference

    async def run() -> None:
        assert told()() is None

    gc.disable()
    try:
        asyncio.run(run())
    finally:
        gc.enable()
