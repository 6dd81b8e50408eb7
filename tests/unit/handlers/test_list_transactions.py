"""ListTransactions while a partition loads. Filters, rows and errors are compared in ``tests/parity``."""

from __future__ import annotations

from unit.transaction_log import Kept

from .one_broker import OneBroker
from .test_describe_transactions import broker, coordinate

__all__ = ["broker"]

COORDINATOR_LOAD_IN_PROGRESS = 14


def test_a_partition_that_loads_refuses_the_list(broker: OneBroker) -> None:
    coordinate(broker, Kept("a", 7, 0, "Ongoing", 60_000, 1_000, [("t", 0)]), partition=1)
    broker.services.transaction_coordinator.partitions.begin(1)
    answer = broker.ask("list_transactions", 2, {"state_filters": [], "producer_id_filters": []})
    assert (int(answer.error_code), answer.transaction_states) == (COORDINATOR_LOAD_IN_PROGRESS, ())
