"""InitProducerId: new ids at every version; requests with a transactional id, which go back to the data plane when it
has ids again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafkastore.coordinator.producer_ids import BLOCK_SIZE
from kafkastore.metadata.store import SessionExpiredError

from .one_broker import OneBroker

COORDINATOR_LOAD_IN_PROGRESS = 14


def ask(broker: OneBroker, version: int = 5, **given: Any) -> tuple[int, int, int]:
    answer = broker.ask(
        "init_producer_id", version, {"transactional_id": None, "transaction_timeout_ms": 60000, **given}
    )
    return int(answer.error_code), answer.producer_id, answer.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_gives_a_new_id_at_every_version(broker: OneBroker, version: int) -> None:
    assert [ask(broker, version) for _ in range(3)] == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]


def test_failure_of_the_store_is_answered_coordinator_load_in_progress(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(path: str, watch: object = None) -> Any:
        raise SessionExpiredError(path)

    monkeypatch.setattr(broker.store, "get", fail)
    assert ask(broker) == (COORDINATOR_LOAD_IN_PROGRESS, -1, -1)


def test_a_transactional_id_goes_back_to_the_data_plane_when_a_block_is_claimed(broker: OneBroker) -> None:
    given = {"transactional_id": "t", "transaction_timeout_ms": 900_000}
    assert broker.hands_back("init_producer_id", 5, given)
    assert broker.engine.of("add_producer_ids") == [(0, BLOCK_SIZE - 1)], "the data plane takes the id"


def test_transactional_ids_that_come_together_share_a_claim(broker: OneBroker) -> None:
    given = {"transactional_id": "t", "transaction_timeout_ms": 60_000}

    async def asking() -> list[bool]:
        return await asyncio.gather(*(broker.handing_back("init_producer_id", 5, given) for _ in range(50)))

    assert broker.run(asking()) == [True] * 50
    assert broker.engine.of("add_producer_ids") == [(0, BLOCK_SIZE - 1)]


def test_a_transactional_id_without_a_block_of_ids_is_answered_coordinator_load_in_progress(
    broker: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(path: str, watch: object = None) -> Any:
        raise SessionExpiredError(path)

    monkeypatch.setattr(broker.store, "get", fail)
    assert ask(broker, transactional_id="t") == (COORDINATOR_LOAD_IN_PROGRESS, -1, -1)
    assert broker.engine.served_here == []
