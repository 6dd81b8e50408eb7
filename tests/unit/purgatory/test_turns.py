"""Long work runs in slices (issue: no request costs more than it brings)."""

from __future__ import annotations

import asyncio
import time

from kafkastore.purgatory.turns import TURN_S, Turn


def _hold(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


async def _work(slices: int, done: list[str], name: str) -> None:
    turn = Turn()
    for _ in range(slices):
        _hold(TURN_S)
        await turn.give_way()
        done.append(name)


async def test_work_within_one_slice_never_waits() -> None:
    coroutine = Turn().give_way()
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waited")


async def test_a_pass_of_the_loop_runs_one_slice_however_many_works_wait() -> None:
    done: list[str] = []
    works = [asyncio.ensure_future(_work(4, done, str(number))) for number in range(20)]
    await asyncio.sleep(0)  # each has begun
    before, passes = len(done), 0
    while not all(work.done() for work in works):
        await asyncio.sleep(0)
        passes += 1
        assert len(done) - before <= passes + 1
    assert len(done) == 80


async def test_works_that_begin_in_one_pass_share_its_slice() -> None:
    done: list[int] = []

    async def one_item(number: int) -> None:
        await Turn().give_way()
        _hold(TURN_S)
        done.append(number)

    works = [asyncio.ensure_future(one_item(number)) for number in range(10)]
    done_in_a_pass = []
    while not all(work.done() for work in works):
        before = len(done)
        await asyncio.sleep(0)
        done_in_a_pass.append(len(done) - before)
    assert max(done_in_a_pass) == 1


def test_check_that_raises_at_the_end_of_a_slice_ends_the_work() -> None:
    class GoneError(Exception):
        pass

    async def run() -> int:
        goes_on = True

        def check() -> None:
            if not goes_on:
                raise GoneError

        turn, items = Turn(check), 0
        try:
            while True:
                _hold(TURN_S)
                await turn.give_way()
                items += 1
                goes_on = items < 3
        except GoneError:
            return items

    assert asyncio.run(run()) == 3


async def test_works_take_their_slices_in_turn() -> None:
    done: list[str] = []
    await asyncio.gather(*(_work(3, done, name) for name in "abc"))
    assert done == list("abcabcabc")


async def test_cancelled_work_does_not_hold_up_those_behind_it() -> None:
    done: list[str] = []
    first = asyncio.ensure_future(_work(3, done, "first"))
    second = asyncio.ensure_future(_work(3, done, "second"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(second, 10)
    assert done == ["second"] * 3


def test_each_yields_every_item_in_order() -> None:
    async def run() -> list[int]:
        return [item async for item in Turn().each(range(100))]

    assert asyncio.run(run()) == list(range(100))


def test_sorted_in_runs_is_as_sorted_at_once() -> None:
    numbers = [number * 7919 % 10_007 for number in range(10_007)]
    assert asyncio.run(_sorted(numbers)) == sorted(numbers)
    assert asyncio.run(_sorted([])) == []


async def _sorted(numbers: list[int]) -> list[int]:
    return await Turn().sorted(numbers)
