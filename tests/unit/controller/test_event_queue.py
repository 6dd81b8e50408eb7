"""The controller's urgent events go before clients' requests, and a request whose asker has given up is not run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kafkastore.controller.event_queue import URGENT_IN_A_ROW, EventQueue
from kafkastore.metadata.store import StoreUnavailableError

TERM: Any = None


@pytest.fixture
async def queue() -> EventQueue:
    return EventQueue(asyncio.get_running_loop(), lambda: None)


@pytest.fixture
def done() -> list[str]:
    return []


def noting(done: list[str], name: str) -> Callable[[Any], Awaitable[None]]:
    async def run(_: Any) -> None:
        done.append(name)

    return run


def ask(queue: EventQueue, done: list[str], name: str) -> asyncio.Task[None]:
    return asyncio.ensure_future(queue.ask(name, noting(done, name)))


async def run_all(queue: EventQueue) -> None:
    while queue:
        await queue.run_next(TERM)


async def test_event_of_a_dead_broker_goes_before_requests_of_clients(queue: EventQueue, done: list[str]) -> None:
    asked = [ask(queue, done, f"create_topics {number}") for number in range(3)]
    await asyncio.sleep(0)
    queue.put_once("topics", noting(done, "topics"))
    queue.put_once("brokers", noting(done, "brokers"))
    asked.append(ask(queue, done, "fence_broker"))
    await asyncio.sleep(0)
    await run_all(queue)
    await asyncio.gather(*asked)
    assert done == ["brokers", "fence_broker", *(f"create_topics {number}" for number in range(3)), "topics"]


async def test_clients_have_their_turn_among_urgent_events_without_end(queue: EventQueue, done: list[str]) -> None:
    asked = ask(queue, done, "create_topics")
    await asyncio.sleep(0)
    for _ in range(3 * URGENT_IN_A_ROW):
        queue.put("answer", noting(done, "answer"))
    await run_all(queue)
    await asked
    assert done.index("create_topics") == URGENT_IN_A_ROW
    assert len(done) == 3 * URGENT_IN_A_ROW + 1


async def test_cancelled_request_leaves_the_queue_and_is_not_executed(queue: EventQueue, done: list[str]) -> None:
    asked = [ask(queue, done, name) for name in ("create_topics", "delete_topics", "fence_broker")]
    await asyncio.sleep(0)
    asked[0].cancel()
    asked[2].cancel()
    await asyncio.wait([asked[0], asked[2]])
    await queue.run_next(TERM)
    assert not queue
    await asked[1]
    assert done == ["delete_topics"]


async def test_event_whose_asker_gave_up_just_now_does_not_happen(queue: EventQueue, done: list[str]) -> None:
    """The asker does not run before the event's turn comes, so the event is still in the queue."""
    asked = ask(queue, done, "create_topics")
    await asyncio.sleep(0)
    asked.cancel()
    await queue.run_next(TERM)
    assert done == []
    await asyncio.wait([asked])
    assert asked.cancelled()


async def test_all_that_waits_is_refused_together(queue: EventQueue, done: list[str]) -> None:
    asked = [ask(queue, done, name) for name in ("create_topics", "fence_broker")]
    asked.append(asyncio.ensure_future(queue.ask_together("proposal", None)))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    queue.refuse_all(StoreUnavailableError("/", "away"))
    for one in asked:
        with pytest.raises(StoreUnavailableError):
            await one
    assert not queue
    assert done == []
