"""Sums of delays are whole numbers, whichever reader adds them up."""

from __future__ import annotations

from demo.flights import Delays

ROWS = [("AA", 3, 2, 7), ("UA", 1, 0, 0), ("HA", 2, 2, -9)]


def added() -> Delays:
    delays = Delays()
    for carrier, minutes in (("AA", 10), ("AA", -3), ("AA", None), ("UA", None), ("HA", -4), ("HA", -5)):
        delays.add(carrier, minutes)
    return delays


def test_a_flight_that_never_arrived_counts_as_a_flight_without_a_delay() -> None:
    delays = added()
    assert (delays.flights["AA"], delays.arrivals["AA"], delays.minutes["AA"]) == (3, 2, 7)
    assert delays.total_flights == 6


def test_rows_of_an_engine_equal_flights_added_one_by_one() -> None:
    assert Delays.of_rows(ROWS) == added()


def test_carriers_come_latest_first_and_without_those_that_never_arrived() -> None:
    assert added().carriers() == ["AA", "HA"]
