"""Blocks of producer ids: no id is given twice over restarts, brokers and races; blocks are durable before use; the end
of all ids."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from stepped import Engine

from kafkastore.coordinator.producer_ids import (
    BLOCK_SIZE,
    LARGEST_ID,
    MAX_CLAIM_ATTEMPTS,
    PATH,
    ProducerIds,
    ProducerIdsExhaustedError,
    keep_above,
)
from kafkastore.errors import CoordinatorLoadInProgressError
from kafkastore.metadata.store import StoreUnavailableError

from .one_broker import OneBroker


def ids_of(broker: OneBroker, node_id: int) -> ProducerIds:
    """The producer ids of another life of the broker, or of another broker, on the same store."""
    return ProducerIds(broker.store, node_id, Engine(node_id, "", [], {}))


def block(broker: OneBroker) -> Any:
    return json.loads(broker.run(broker.store.get(PATH)).data)


def draw(broker: OneBroker, ids: ProducerIds, count: int) -> list[int]:
    async def drawing() -> list[int]:
        return await asyncio.gather(*(ids.next_id() for _ in range(count)))

    found: list[int] = broker.run(drawing())
    return found


def test_a_block_is_stored_in_kafkas_form_before_its_first_id(broker: OneBroker) -> None:
    assert broker.run(broker.services.producer_ids.next_id()) == 0
    assert block(broker) == {"version": 1, "broker": 1, "block_start": "0", "block_end": "999"}


def test_ids_go_on_over_the_end_of_a_block(broker: OneBroker) -> None:
    ids = broker.services.producer_ids
    assert draw(broker, ids, BLOCK_SIZE + 2) == list(range(BLOCK_SIZE + 2))
    assert block(broker)["block_start"] == "1000"


def test_a_restart_never_gives_an_id_twice(broker: OneBroker) -> None:
    draw(broker, broker.services.producer_ids, 3)
    assert draw(broker, ids_of(broker, 1), 1) == [BLOCK_SIZE]


def test_a_block_that_is_claimed_ahead_is_claimed_once_and_given_out_first(broker: OneBroker) -> None:
    ids = ids_of(broker, 1)

    async def claiming() -> list[int]:
        for _ in range(3):
            ids.claim_ahead()
        return await asyncio.gather(*(ids.next_id() for _ in range(BLOCK_SIZE)))

    assert broker.run(claiming()) == list(range(BLOCK_SIZE))
    assert block(broker)["block_start"] == "0"


def test_brokers_that_race_never_share_an_id(broker: OneBroker) -> None:
    brokers = [ids_of(broker, node) for node in (1, 2, 3)]

    async def race() -> list[int]:
        return await asyncio.gather(*(one.next_id() for _ in range(700) for one in brokers))

    found = broker.run(race())
    assert len(set(found)) == len(found) == 2100


def test_an_empty_node_counts_as_no_block(broker: OneBroker) -> None:
    broker.run(broker.store.create(PATH))
    assert draw(broker, broker.services.producer_ids, 1) == [0]


@pytest.mark.parametrize(("next_id", "first"), [(1, 1000), (1000, 1000), (1001, 2000), (5_500, 6_000)])
def test_ids_of_a_directory_that_was_taken_over_are_not_given_again(
    broker: OneBroker, next_id: int, first: int
) -> None:
    broker.run(keep_above(broker.store, 1, next_id))
    assert draw(broker, ids_of(broker, 1), 1) == [first]
    broker.run(keep_above(broker.store, 1, next_id))
    assert draw(broker, ids_of(broker, 2), 1) == [first + BLOCK_SIZE], "ids go on where they were"
    broker.run(keep_above(broker.store, 1, 20_000))
    assert draw(broker, ids_of(broker, 2), 1) == [20_000]


def test_directory_without_producers_takes_no_ids(broker: OneBroker) -> None:
    broker.run(keep_above(broker.store, 1, 0))
    assert draw(broker, ids_of(broker, 1), 1) == [0]


def test_ids_end_before_they_do_not_fit(broker: OneBroker) -> None:
    last = {"version": 1, "broker": 1, "block_start": "0", "block_end": str(LARGEST_ID - BLOCK_SIZE)}
    broker.run(broker.store.create(PATH, json.dumps(last).encode()))
    with pytest.raises(ProducerIdsExhaustedError):
        broker.run(broker.services.producer_ids.next_id())


def test_a_claim_gives_up_when_others_always_win(broker: OneBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = broker.services.producer_ids
    tries = 0

    async def lose() -> None:
        nonlocal tries
        tries += 1

    monkeypatch.setattr(ids, "_try_claim", lose)
    with pytest.raises(CoordinatorLoadInProgressError):
        broker.run(ids.next_id())
    assert tries == MAX_CLAIM_ATTEMPTS


def test_requests_for_a_block_share_its_failure(  # with the store away each waited for its own
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    async def away(self: ProducerIds) -> tuple[int, int] | None:
        attempts.append(self)
        await asyncio.sleep(0)
        raise StoreUnavailableError(PATH, "away")

    monkeypatch.setattr(ProducerIds, "_try_claim", away)
    ids = ids_of(broker, 1)

    async def drawing() -> list[Any]:
        return await asyncio.gather(*(ids.next_id() for _ in range(50)), return_exceptions=True)

    assert {type(one) for one in broker.run(drawing())} == {CoordinatorLoadInProgressError}
    assert len(attempts) == 1
    monkeypatch.undo()
    assert draw(broker, ids, 1) == [0], "the next one tries again"


class _CountedIds(Engine):
    """Fails a loop that asks again and again without yielding."""

    asked = 0

    def take_producer_id(self) -> int | None:
        self.asked += 1
        assert self.asked < 100
        found: int | None = self.call("take_producer_id")
        return found


def test_request_that_comes_while_a_claim_ends_gets_an_id(broker: OneBroker) -> None:
    """Once a claim that had ended, and whose callbacks had not run yet, held the loop for ever."""
    ids = ProducerIds(broker.store, 1, _CountedIds(1, "", [], {}))

    async def asking() -> int:
        claiming = ids.claiming()
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def look() -> None:
            if not claiming.done():
                asyncio.get_running_loop().call_soon(look)  # in every pass, before the claim's callbacks run
            else:
                coroutine = ids.next_id()
                try:
                    coroutine.send(None)
                except StopIteration as finished:
                    found.set_result(finished.value)
                except AssertionError as error:
                    found.set_exception(error)

        look()
        return await found

    assert broker.run(asking()) == 0
