"""The bound on the bytes that the control plane's requests hold together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kafkastore.requests.admission import GROWTH, LARGE_BYTES, PATIENCE_S, RELIEF_S, Admission
from kafkastore.requests.context import AbandonedError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MAX_BYTES = 32 << 20
LARGE = 1 << 20
MEDIUM = LARGE_BYTES


def check(test: Callable[[Admission], Awaitable[None]], is_pressed: Callable[[], bool] = lambda: False) -> None:
    async def body() -> None:
        await test(Admission(asyncio.get_running_loop(), MAX_BYTES, is_pressed))

    asyncio.run(body())


def test_one_large_request_begins_whatever_it_weighs_and_the_next_when_it_has_left() -> None:
    async def test(admission: Admission) -> None:
        first, second = admission.ticket("CreateTopics", LARGE), admission.ticket("CreateTopics", LARGE)
        assert first.weight > admission.max_bytes
        assert admission.try_enter(first)
        assert not admission.try_enter(second)
        waiting = asyncio.ensure_future(admission.enter(second))
        await asyncio.sleep(0)
        assert not second.is_in
        admission.leave(first)
        await waiting
        assert admission.used_bytes == second.weight

    check(test)


def test_small_and_medium_requests_begin_beside_large_ones_that_wait() -> None:
    async def test(admission: Admission) -> None:
        large = [admission.ticket("CreateTopics", LARGE) for _ in range(3)]
        assert [admission.try_enter(one) for one in large] == [True, False, False]
        for one in large[1:]:
            asyncio.ensure_future(admission.enter(one))  # noqa: RUF006 - the loop ends with the test
        await asyncio.sleep(0)
        assert admission.try_enter(admission.ticket("Heartbeat", 100))
        assert admission.try_enter(admission.ticket("OffsetCommit", MEDIUM))

    check(test)


def test_medium_requests_fill_the_room_and_no_more() -> None:
    async def test(admission: Admission) -> None:
        begun = 0
        while admission.try_enter(admission.ticket("OffsetCommit", MEDIUM)):
            begun += 1
        assert begun == admission.max_bytes // (MEDIUM * GROWTH)

    check(test)


def test_abandoned_request_that_waits_leaves_the_queue_and_holds_nothing() -> None:
    async def test(admission: Admission) -> None:
        first, gone, last = (admission.ticket("CreateTopics", LARGE) for _ in range(3))
        assert admission.try_enter(first)
        waiting = [asyncio.ensure_future(admission.enter(one)) for one in (gone, last)]
        await asyncio.sleep(0)
        admission.give_up(gone, AbandonedError())
        with pytest.raises(AbandonedError):
            await waiting[0]
        admission.leave(first)
        await waiting[1]
        admission.leave(last)
        assert admission.used_bytes == 0

    check(test)


def test_request_that_is_cancelled_just_after_it_was_let_in_holds_nothing() -> None:
    async def test(admission: Admission) -> None:
        first, gone, last = (admission.ticket("CreateTopics", LARGE) for _ in range(3))
        assert admission.try_enter(first)
        waiting = [asyncio.ensure_future(admission.enter(one)) for one in (gone, last)]
        await asyncio.sleep(0)
        admission.leave(first)
        assert gone.is_in
        waiting[0].cancel()
        async with asyncio.timeout(30.0):
            await waiting[1]
        assert admission.used_bytes == last.weight
        admission.leave(last)
        assert admission.used_bytes == 0

    check(test)


def test_answer_counts_as_it_grows_until_the_request_leaves() -> None:
    async def test(admission: Admission) -> None:
        ticket = admission.ticket("DescribeConfigs", 100)
        assert admission.try_enter(ticket)
        admission.note_answer(ticket, MAX_BYTES)
        assert admission.is_over
        admission.leave(ticket)
        admission.leave(ticket)
        assert admission.used_bytes == 0

    check(test)


def test_no_expensive_request_begins_while_clients_do_not_read_their_answers() -> None:
    pressed = [True]

    async def test(admission: Admission) -> None:
        ticket = admission.ticket("DescribeConfigs", 100)
        assert not admission.try_enter(ticket)
        assert admission.try_enter(admission.ticket("Heartbeat", 100))
        waiting = asyncio.ensure_future(admission.enter(ticket))
        await asyncio.sleep(2 * RELIEF_S)
        assert not ticket.is_in
        pressed[0] = False
        async with asyncio.timeout(PATIENCE_S / 2):
            await waiting

    check(test, lambda: pressed[0])
