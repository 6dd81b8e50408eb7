"""ListTransactions: the filters of each version, the fields of a row, the errors (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from unit.transaction_log import Kept

from .test_describe_transactions import broker, coordinate

__all__ = ["broker"]

if TYPE_CHECKING:
    from .one_broker import OneBroker

COORDINATOR_LOAD_IN_PROGRESS, INVALID_REGULAR_EXPRESSION = 14, 128
LONG_AGO_MS, LATER_MS = 1_000, 1 << 60  # LATER_MS: beyond the clock of any test


@pytest.fixture
def coordinating(broker: OneBroker) -> OneBroker:
    coordinate(
        broker,
        Kept("orders-1", 7, 0, "Ongoing", 60_000, LONG_AGO_MS, [("t", 0)]),
        Kept("orders-2", 8, 0, "Empty", 60_000, LATER_MS, []),
        Kept("bills", 9, 0, "Ongoing", 60_000, LATER_MS, []),
        partition=1,
    )
    return broker


def ask(broker: OneBroker, version: int = 2, **filters: Any) -> Any:
    return broker.ask("list_transactions", version, {"state_filters": [], "producer_id_filters": [], **filters})


def ids(answer: Any) -> list[str]:
    assert int(answer.error_code) == 0
    return [row.transactional_id for row in answer.transaction_states]


@pytest.mark.parametrize("version", range(3))
def test_lists_every_id_without_filters_at_every_version(coordinating: OneBroker, version: int) -> None:
    answer = ask(coordinating, version)
    assert ids(answer) == ["bills", "orders-1", "orders-2"]
    assert answer.unknown_state_filters == ()
    first = answer.transaction_states[0]
    assert (first.producer_id, first.transaction_state) == (9, "Ongoing")


@pytest.mark.parametrize("version", range(3))
def test_filters_of_every_version_select_rows(coordinating: OneBroker, version: int) -> None:
    assert ids(ask(coordinating, version, state_filters=["Ongoing"])) == ["bills", "orders-1"]
    assert ids(ask(coordinating, version, producer_id_filters=[8, 9])) == ["bills", "orders-2"]
    assert ids(ask(coordinating, version, state_filters=["Ongoing"], producer_id_filters=[8, 9])) == ["bills"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_duration_selects_transactions_that_have_run_longer(coordinating: OneBroker, version: int) -> None:
    assert ids(ask(coordinating, version, duration_filter=1_000)) == ["orders-1"]
    assert ids(ask(coordinating, version, duration_filter=-1)) == ["bills", "orders-1", "orders-2"]


def test_a_pattern_matches_the_whole_id(coordinating: OneBroker) -> None:
    assert ids(ask(coordinating, transactional_id_pattern="orders-.")) == ["orders-1", "orders-2"]
    assert ids(ask(coordinating, transactional_id_pattern="orders")) == []
    assert ids(ask(coordinating, transactional_id_pattern="")) == ["bills", "orders-1", "orders-2"]


def test_an_unknown_state_is_answered_and_selects_nothing(coordinating: OneBroker) -> None:
    answer = ask(coordinating, state_filters=["Empty", "Open"])
    assert (ids(answer), answer.unknown_state_filters) == (["orders-2"], ("Open",))
    answer = ask(coordinating, state_filters=["Open"])
    assert (ids(answer), answer.unknown_state_filters) == ([], ("Open",))


def test_a_pattern_that_is_no_regular_expression_is_refused(coordinating: OneBroker) -> None:
    answer = ask(coordinating, transactional_id_pattern="(")
    assert (int(answer.error_code), answer.transaction_states) == (INVALID_REGULAR_EXPRESSION, ())


def test_a_broker_without_transactional_ids_lists_none(broker: OneBroker) -> None:
    assert ids(ask(broker)) == []


def test_a_partition_that_loads_refuses_the_list(coordinating: OneBroker) -> None:
    coordinating.services.transaction_coordinator.partitions.begin(1)
    answer = ask(coordinating)
    assert (int(answer.error_code), answer.transaction_states) == (COORDINATOR_LOAD_IN_PROGRESS, ())
