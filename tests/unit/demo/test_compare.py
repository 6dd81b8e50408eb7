"""Answers must equal the CSV in whole numbers; a table shows them side by side."""

from __future__ import annotations

import pytest
from demo import compare
from demo.flights import Delays

EXPECTED = Delays.of_rows([("AA", 30_000, 29_000, 10_572), ("HA", 342, 342, -2365), ("ZZ", 1, 0, 0)])
NAMES = {"AA": "American Airlines Inc.", "HA": "Hawaiian Airlines Inc."}


def but(carrier: str, flights: int, arrivals: int, minutes: int) -> Delays:
    """The expected answer with one carrier's figures changed."""
    kept = [
        (c, EXPECTED.flights[c], EXPECTED.arrivals[c], EXPECTED.minutes[c]) for c in EXPECTED.flights if c != carrier
    ]
    return Delays.of_rows([*kept, (carrier, flights, arrivals, minutes)])


def test_equal_answers_have_no_difference() -> None:
    same = but("HA", 342, 342, -2365)
    assert compare.differences(EXPECTED, {"consumers": same, "Spark": same, "DuckDB": same}) == []


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (but("AA", 29_999, 29_000, 10_572), "AA: Spark found 29,999 flights, 29,000 arrived, 10,572 minutes late"),
        (but("AA", 30_000, 28_999, 10_572), "AA: Spark found 30,000 flights, 28,999 arrived, 10,572 minutes late"),
        (but("HA", 342, 342, -2364), "HA: Spark found 342 flights, 342 arrived, -2,364 minutes late"),
        (but("QQ", 1, 1, 5), "QQ: Spark found 1 flights, 1 arrived, 5 minutes late"),
    ],
    ids=["a flight", "an arrival", "a minute", "a carrier"],
)
def test_count_that_differs_is_reported_with_both_figures(answer: Delays, sentence: str) -> None:
    (found,) = compare.differences(EXPECTED, {"consumers": EXPECTED, "Spark": answer})
    assert found.startswith(sentence + "; the CSV has ")


def test_a_minute_that_the_shown_mean_hides_is_a_difference() -> None:
    answer = but("AA", 30_000, 29_000, 10_573)
    assert f"{answer.mean('AA'):.2f}" == f"{EXPECTED.mean('AA'):.2f}"
    assert len(compare.differences(EXPECTED, {"DuckDB": answer})) == 1


def test_a_carrier_that_is_missing_is_a_difference() -> None:
    answer = Delays.of_rows([("AA", 30_000, 29_000, 10_572), ("ZZ", 1, 0, 0)])
    assert compare.differences(EXPECTED, {"DuckDB": answer}) == [
        "HA: DuckDB found 0 flights, 0 arrived, 0 minutes late; the CSV has 342 flights, 342 arrived, -2,365 minutes "
        "late"
    ]


def test_table_has_a_column_for_each_reader_and_the_latest_carrier_on_top() -> None:
    lines = compare.table(EXPECTED, {"consumers": EXPECTED, "Spark": EXPECTED, "DuckDB": EXPECTED}, NAMES)
    assert lines[1].split() == ["carrier", "flights", "arrived", "CSV", "consumers", "Spark", "DuckDB"]
    american, hawaiian = lines[2:]
    assert american.split() == ["AA", *NAMES["AA"].split(), "30,000", "29,000", *["0.36"] * 4]
    assert hawaiian.split() == ["HA", *NAMES["HA"].split(), "342", "342", *["-6.92"] * 4]
    assert len({len(line) for line in lines[1:]}) == 1
