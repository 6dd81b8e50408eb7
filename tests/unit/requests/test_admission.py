"""The bound on the bytes that the control plane's requests hold together."""

from __future__ import annotations

import asyncio

import pytest

from kafkastore.requests.admission import GROWTH, LARGE_BYTES, PATIENCE_S, RELIEF_S, Admission
from kafkastore.requests.context import AbandonedError

MAX_BYTES = 32 << 20
LARGE = 1 << 20
MEDIUM = LARGE_BYTES


@pytest.fixture
async def admission() -> Admission:
    return Admission(asyncio.get_running_loop(), MAX_BYTES, lambda: False)


async def test_one_large_request_begins_whatever_it_weighs_and_the_next_when_it_has_left(admission: Admission) -> None:
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


async def test_small_and_medium_requests_begin_beside_large_ones_that_wait(admission: Admission) -> None:
    large = [admission.ticket("CreateTopics", LARGE) for _ in range(3)]
    assert [admission.try_enter(one) for one in large] == [True, False, False]
    for one in large[1:]:
        asyncio.ensure_future(admission.enter(one))  # noqa: RUF006 - the loop ends with the test
    await asyncio.sleep(0)
    assert admission.try_enter(admission.ticket("Heartbeat", 100))
    assert admission.try_enter(admission.ticket("OffsetCommit", MEDIUM))


async def test_medium_requests_fill_the_room_and_no_more(admission: Admission) -> None:
    begun = 0
    while admission.try_enter(admission.ticket("OffsetCommit", MEDIUM)):
        begun += 1
    assert begun == admission.max_bytes // (MEDIUM * GROWTH)


async def test_abandoned_request_that_waits_leaves_the_queue_and_holds_nothing(admission: Admission) -> None:
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


async def test_request_that_is_cancelled_just_after_it_was_let_in_holds_nothing(admission: Admission) -> None:
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


async def test_answer_counts_as_it_grows_until_the_request_leaves(admission: Admission) -> None:
    ticket = admission.ticket("DescribeConfigs", 100)
    assert admission.try_enter(ticket)
    admission.note_answer(ticket, MAX_BYTES)
    assert admission.is_over
    admission.leave(ticket)
    admission.leave(ticket)
    assert admission.used_bytes == 0


async def test_no_expensive_request_begins_while_clients_do_not_read_their_answers() -> None:
    pressed = [True]
    admission = Admission(asyncio.get_running_loop(), MAX_BYTES, lambda: pressed[0])
    ticket = admission.ticket("DescribeConfigs", 100)
    assert not admission.try_enter(ticket)
    assert admission.try_enter(admission.ticket("Heartbeat", 100))
    waiting = asyncio.ensure_future(admission.enter(ticket))
    await asyncio.sleep(2 * RELIEF_S)
    assert not ticket.is_in
    pressed[0] = False
    async with asyncio.timeout(PATIENCE_S / 2):
        await waiting
