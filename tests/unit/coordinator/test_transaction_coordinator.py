"""The transaction coordinator of a started broker over the stepped engine: its topic, its elections, its lists and
descriptions. KIP-664."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from stepped import Noting, refusal
from world import run, running_broker, started_broker, until

from kafkastore._core import build_batch
from kafkastore.coordinator.transaction.config import TransactionConfig
from kafkastore.coordinator.transaction.listing import TransactionFilters
from kafkastore.coordinator.transaction_coordinator import TransactionCoordinator
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC
from unit.transaction_log import Kept, batch_of

LIMIT_S = 10
PARTITIONS = {
    "transaction__state__log__num__partitions": "2",
    "transaction__state__log__replication__factor": "1",
    "transaction__state__log__min__isr": "1",
}
START_MS = 1_000


def kept(transactional_id: str, state: str = "Ongoing", producer_id: int = 7) -> Kept:
    return Kept(transactional_id, producer_id, 3, state, 60_000, START_MS, [("t", 0)])


@asynccontextmanager
async def coordinating(folder: Path, **properties: str) -> AsyncIterator[tuple[Any, TransactionCoordinator]]:
    """A broker whose ``__transaction_state`` is loaded; partition 0 keeps the ids b and d, partition 1 the id c."""
    async with running_broker(folder, **{**PARTITIONS, **properties}) as broker:
        await broker.services.topics.create_internal(TRANSACTION_STATE_TOPIC)
        coordinator = broker.services.transactions.made
        assert coordinator is not None
        await until(lambda: is_loaded(coordinator))
        rows = [kept("b"), kept("d", "Empty", 8)], [kept("c", "PrepareCommit")]
        for partition, ids in enumerate(rows):
            keep(broker.services, partition, batch_of(*ids))
            coordinator.on_election(partition, 1)
        await until(lambda: is_loaded(coordinator))
        yield broker.services, coordinator


def keep(services: Any, partition: int, batch: bytes) -> None:
    services.engine.append(TRANSACTION_STATE_TOPIC, partition, batch, 1, 0)


def is_loaded(coordinator: TransactionCoordinator) -> bool:
    return bool(coordinator.partitions.states) and not coordinator.partitions.is_loading


def engine_of(services: Any) -> Noting:
    found: Noting = services.engine.transactions()
    return found


def active(services: Any) -> list[int]:
    """The partitions whose ids the engine serves."""
    transactions = engine_of(services).real
    return [number for number in (0, 1) if transactions.list(number, [], [], -1, None, START_MS)]


async def listed(coordinator: TransactionCoordinator, **filters: Any) -> list[str]:
    found = await coordinator.list_transactions(TransactionFilters(**filters))
    assert found.error_code == ErrorCode.NONE
    return [row.transactional_id for row in found.transactions]


# ---- life


def test_a_broker_without_the_topic_has_no_coordinator(tmp_path: Path) -> None:
    async def body() -> None:
        async with running_broker(tmp_path) as broker:
            assert broker.services.transactions.made is None
        assert engine_of(broker.services).calls == []

    run(body)


def test_the_coordinator_loads_the_partitions_that_the_broker_leads(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            assert active(services) == [0, 1]
            assert coordinator.partitions.check(0) == ErrorCode.NONE
            assert services.engine.topic_configs[TRANSACTION_STATE_TOPIC]["cleanup.policy"] == "compact"

    run(body)


def test_a_restarted_broker_loads_its_partitions_without_any_request(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path):
            pass
        async with running_broker(tmp_path, **PARTITIONS) as again:
            await until(lambda: active(again.services) == [0, 1])

    run(body)


def test_a_stop_gives_up_the_partitions_and_then_the_service(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            pass
        calls = [(call.name, call.arguments) for call in engine_of(services).made[-3:]]
        assert calls == [("close", (0,)), ("close", (1,)), ("stop", ())]
        assert active(services) == []
        assert (
            await coordinator.list_transactions(TransactionFilters())
        ).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        with pytest.raises(KafkastoreError) as refused:
            coordinator.describe_transaction("a")
        assert refused.value.code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(body)


def settings(services: Any) -> dict[str, Any]:
    (call,) = [call for call in engine_of(services).made if call.name == "configure"]
    return call.named


def test_defaults_of_the_configuration_are_those_of_kafka(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, _):
            assert settings(services) == TransactionConfig()._asdict()

    run(body)


def test_the_data_plane_gets_the_configuration(tmp_path: Path) -> None:
    keys = {
        "transaction__max__timeout__ms": "1",
        "transactional__id__expiration__ms": "2",
        "transaction__abort__timed__out__transaction__cleanup__interval__ms": "3",
        "transaction__remove__expired__transaction__cleanup__interval__ms": "4",
    }

    async def body() -> None:
        async with coordinating(tmp_path, **keys) as (services, _):
            assert settings(services) == {
                "max_timeout_ms": 1,
                "id_expiration_ms": 2,
                "abort_interval_ms": 3,
                "expiry_interval_ms": 4,
            }

    run(body)


# ---- elections


def test_a_partition_that_is_resigned_is_closed_and_no_longer_listed(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            coordinator.on_resignation(0)
            assert active(services) == [1]
            assert coordinator.partitions.check(0) == ErrorCode.NOT_COORDINATOR
            assert await listed(coordinator) == ["c"]

    run(body)


def test_a_partition_that_is_resigned_while_it_loads_is_not_activated(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            transactions, is_read = engine_of(services), threading.Event()
            load = transactions.load

            def slow(partition: int, number: int) -> Any:
                is_read.wait(LIMIT_S)
                return load(partition, number)

            transactions.load = slow
            transactions.made.clear()
            coordinator.on_election(0, 5)
            await until(lambda: "begin" in transactions.calls)
            coordinator.on_resignation(0)
            is_read.set()
            await until(lambda: "load" in transactions.calls)
            await asyncio.sleep(0)
            assert [(call.name, call.arguments[0]) for call in transactions.made] == [
                ("begin", 0),
                ("close", 0),
                ("load", 0),
            ]
            assert active(services) == [1]
            assert coordinator.partitions.check(0) == ErrorCode.NOT_COORDINATOR

    run(body)


def test_a_partition_whose_load_fails_is_coordinated_again_from_the_next_election_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            transactions = engine_of(services)

            def fail(*_: object) -> Any:
                raise refusal(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is broken")

            transactions.load = fail
            coordinator.on_election(0, 5)
            await until(lambda: 0 not in coordinator.partitions.states)
            assert active(services) == [1]
            del transactions.load
            coordinator.on_election(0, 6)
            await until(lambda: active(services) == [0, 1])

    run(body)
    assert "Failed to load __transaction_state-0: the disk is broken" in caplog.text


def test_records_that_a_load_skips_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            keep(services, 1, build_batch([(b"\0\x09", b"")] * 2, 0))
            coordinator.on_election(1, 5)
            await until(lambda: is_loaded(coordinator))

    run(body)
    assert "Skipped 2 records of __transaction_state-1 (offset 1: a key of an unknown version)" in caplog.text


# ---- administration


def test_lists_fulfil_every_filter(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            assert await listed(coordinator) == ["b", "d", "c"]
            assert await listed(coordinator, states=["Ongoing", "PrepareCommit"]) == ["b", "c"]
            assert await listed(coordinator, producer_ids=[8]) == ["d"]
            assert await listed(coordinator, pattern="[cd]") == ["d", "c"]
            assert await listed(coordinator, pattern="") == ["b", "d", "c"]
            assert await listed(coordinator, min_duration_ms=0) == ["b", "d", "c"]
            assert await listed(coordinator, min_duration_ms=1 << 60) == []
            assert engine_of(services).of("list")[0][:5] == (0, [], [], -1, None)

    run(body)


def test_states_that_kafka_has_not_are_answered_and_select_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator):
            found = await coordinator.list_transactions(TransactionFilters(states=["Empty", "empty", "empty"]))
            assert (found.error_code, found.unknown_states) == (ErrorCode.NONE, ["empty"])
            assert [row.transactional_id for row in found.transactions] == ["d"]
            found = await coordinator.list_transactions(TransactionFilters(states=["Open"]))
            assert found == (ErrorCode.NONE, ["Open"], [])

    run(body)


def test_a_pattern_that_is_no_regular_expression_is_refused_by_every_broker(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator):
            for states in ([], ["Open"]):
                found = await coordinator.list_transactions(TransactionFilters(states=states, pattern="("))
                assert found.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
            coordinator.on_resignation(0)
            coordinator.on_resignation(1)
            found = await coordinator.list_transactions(TransactionFilters(pattern="("))
            assert found.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION

    run(body)


def test_a_list_while_a_partition_loads_is_refused(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator):
            coordinator.on_election(1, 5)
            found = await coordinator.list_transactions(TransactionFilters())
            assert found.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            await until(lambda: is_loaded(coordinator))
            assert await listed(coordinator) == ["b", "d", "c"]

    run(body)


def test_a_list_during_which_a_partition_begins_to_load_is_refused(tmp_path: Path) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (services, coordinator):
            transactions = engine_of(services)
            list_partition = transactions.list

            def electing(partition: int, *arguments: Any) -> Any:
                coordinator.on_election(1, 5)
                return list_partition(partition, *arguments)

            transactions.list = electing
            found = await coordinator.list_transactions(TransactionFilters())
            assert found == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, (), ())

    run(body)


@pytest.mark.parametrize(
    ("transactional_id", "code"), [("", ErrorCode.INVALID_REQUEST), ("nope", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)]
)
def test_an_id_that_cannot_be_described_is_refused(tmp_path: Path, transactional_id: str, code: int) -> None:
    async def body() -> None:
        async with coordinating(tmp_path) as (_, coordinator):
            with pytest.raises(KafkastoreError) as refused:
                coordinator.describe_transaction(transactional_id)
            assert refused.value.code == code

    run(body)


def test_a_broker_stops_while_a_partition_loads(tmp_path: Path) -> None:
    async def body() -> None:
        broker = await started_broker(tmp_path, **PARTITIONS)
        await broker.services.topics.create_internal(TRANSACTION_STATE_TOPIC)
        coordinator = broker.services.transaction_coordinator
        coordinator.on_election(0, 5)
        await broker.stop()
        assert active(broker.services) == []

    run(body)
