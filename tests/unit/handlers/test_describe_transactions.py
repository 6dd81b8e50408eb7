"""DescribeTransactions: every field of a transaction; each id has its own error (KIP-664)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafkastore.handlers.repeats import REPEATED_BYTES
from kafkastore.internal_topics import TRANSACTION_STATE_TOPIC
from unit.transaction_log import Kept, batch_of

from .conftest import MakeBroker
from .one_broker import OneBroker

COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, INVALID_REQUEST, TRANSACTIONAL_ID_NOT_FOUND = 15, 16, 42, 105
START_MS = 1_700_000_000_123


@pytest.fixture
def broker(make_broker: MakeBroker) -> OneBroker:
    """A broker whose ``__transaction_state`` has two partitions."""
    keys = {"num.partitions": "2", "replication.factor": "1", "min.isr": "1"}
    return make_broker({f"transaction.state.log.{key}": value for key, value in keys.items()})


def coordinate(broker: OneBroker, *kept: Kept, partition: int) -> None:
    """The partition of ``__transaction_state``, which the broker leads, keeps these ids."""
    coordinator = broker.services.transaction_coordinator
    if TRANSACTION_STATE_TOPIC not in broker.services.image.topics:
        broker.run(broker.services.topics.create_internal(TRANSACTION_STATE_TOPIC))
    broker.engine.append(TRANSACTION_STATE_TOPIC, partition, batch_of(*kept), 1, 0)

    async def electing() -> None:
        coordinator.on_election(partition)
        while coordinator.partitions.is_loading:  # noqa: ASYNC110 ends within a few passes
            await asyncio.sleep(0.001)

    broker.run(asyncio.wait_for(electing(), 10))


def ask(broker: OneBroker, *ids: str) -> Any:
    return broker.ask("describe_transactions", 0, {"transactional_ids": ids}).transaction_states


def test_describes_a_transaction_with_its_partitions_by_topic(broker: OneBroker) -> None:
    partitions = [("t", 2), ("u", 0), ("t", 1)]
    coordinate(broker, Kept("a", 4000, 3, "Ongoing", 60_000, START_MS, partitions), partition=1)
    (found,) = ask(broker, "a")
    assert (int(found.error_code), found.transactional_id, found.transaction_state) == (0, "a", "Ongoing")
    assert (found.producer_id, found.producer_epoch) == (4000, 3)
    assert found.transaction_timeout_ms == 60_000
    assert found.transaction_start_time_ms == START_MS
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [("t", (1, 2)), ("u", (0,))]


def test_ids_are_answered_in_their_order_and_each_has_its_own_error(broker: OneBroker) -> None:
    coordinate(broker, Kept("a", 4000, 3, "Ongoing", 60_000, START_MS, []), partition=1)
    broker.services.transaction_coordinator.on_resignation(0)  # the partition of "afar"
    rows = [(row.transactional_id, int(row.error_code)) for row in ask(broker, "no", "a", "", "afar")]
    assert rows == [("no", TRANSACTIONAL_ID_NOT_FOUND), ("a", 0), ("", INVALID_REQUEST), ("afar", NOT_COORDINATOR)]


def assert_stopped(broker: OneBroker) -> None:
    broker.services.transaction_coordinator.shutdown()
    broker.run(asyncio.sleep(0))
    assert [int(row.error_code) for row in ask(broker, "a", "")] == [COORDINATOR_NOT_AVAILABLE] * 2


def test_a_coordinator_that_has_stopped_is_not_available(broker: OneBroker) -> None:
    coordinate(broker, Kept("a", 4000, 3, "Ongoing", 60_000, START_MS, []), partition=1)
    assert_stopped(broker)


def test_a_coordinator_that_has_stopped_makes_no_topic(broker: OneBroker) -> None:
    assert_stopped(broker)
    assert TRANSACTION_STATE_TOPIC not in broker.services.image.topics


def test_an_id_that_is_named_again_is_described_again_for_one_megabyte(broker: OneBroker) -> None:
    partitions = [("t", number) for number in range(10_000)]
    coordinate(broker, Kept("a", 4000, 3, "Ongoing", 60_000, START_MS, partitions), partition=1)
    codes = [int(row.error_code) for row in ask(broker, *["a"] * 100)]
    answered = codes.count(0)
    row_bytes = 40_000  # an index of a partition is four bytes; the first answer is no repeat
    assert (answered - 2) * row_bytes <= REPEATED_BYTES < answered * row_bytes
    assert codes == [0] * answered + [INVALID_REQUEST] * (100 - answered)
