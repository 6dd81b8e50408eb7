"""The readers' answers side by side: whole numbers must be equal, means are only shown."""

from __future__ import annotations

from collections.abc import Mapping

from demo.flights import Delays

SOURCE = "CSV"


def differences(expected: Delays, answers: Mapping[str, Delays]) -> list[str]:
    """A sentence for each carrier and reader whose flights, arrivals or minutes are not those of the CSV."""
    found = []
    for reader, answer in answers.items():
        for carrier in sorted(expected.flights.keys() | answer.flights.keys()):
            wanted, told = _figures(expected, carrier), _figures(answer, carrier)
            if told != wanted:
                found.append(f"{carrier}: {reader} found {_words(told)}; the CSV has {_words(wanted)}")
    return found


def _figures(delays: Delays, carrier: str) -> tuple[int, int, int]:
    return delays.flights.get(carrier, 0), delays.arrivals.get(carrier, 0), delays.minutes.get(carrier, 0)


def _words(figures: tuple[int, int, int]) -> str:
    flights, arrivals, minutes = figures
    return f"{flights:,} flights, {arrivals:,} arrived, {minutes:,} minutes late"


def table(expected: Delays, answers: Mapping[str, Delays], names: Mapping[str, str]) -> list[str]:
    """The lines of the table: one for each carrier, the most delayed first, with a column for every reader's mean."""
    readers = {SOURCE: expected, **answers}
    widths = {reader: max(len(reader), 6) + 2 for reader in readers}
    lines = [
        f"{'':<47}mean delay at arrival, minutes",
        f"{'carrier':<30}{'flights':>8}{'arrived':>9}" + "".join(f"{name:>{widths[name]}}" for name in readers),
    ]
    for carrier in expected.carriers():
        means = "".join(f"{_mean(answer, carrier):>{widths[name]}}" for name, answer in readers.items())
        named = f"{carrier} {names.get(carrier, '')}"
        lines.append(f"{named:<30}{expected.flights[carrier]:>8,}{expected.arrivals[carrier]:>9,}{means}")
    return lines


def _mean(delays: Delays, carrier: str) -> str:
    return f"{delays.mean(carrier):.2f}" if delays.arrivals.get(carrier) else "-"
