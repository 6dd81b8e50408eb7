"""When freed memory is given back (after 600 MB of member metadata 366 MB stayed)."""

from __future__ import annotations

import pytest

from kafkastore.log import free_memory
from kafkastore.log.free_memory import INTERVAL_MS, LOOKS, NEXT_TO_NOTHING_S, REST_SHARE, SLACK_BYTES, FreeMemory

MB = 1024 * 1024
BUSY_S = REST_SHARE * INTERVAL_MS / 1000


class Process:
    """A process of which giving memory back leaves ``in_use`` bytes resident."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.resident = self.in_use = 40 * MB
        self.cpu_s = 0.0
        self.given_back = 0
        monkeypatch.setattr(free_memory, "resident_bytes", lambda: self.resident)
        monkeypatch.setattr(free_memory, "give_back_memory", self._give_back)
        monkeypatch.setattr("kafkastore.log.free_memory.time.process_time", lambda: self.cpu_s)

    def work(self, resident: int, cpu_s: float = NEXT_TO_NOTHING_S) -> None:
        self.resident = resident
        self.cpu_s += cpu_s

    def _give_back(self) -> None:
        self.given_back += 1
        self.resident = self.in_use


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Process:
    return Process(monkeypatch)


def test_a_process_at_rest_gives_back_what_it_freed_and_no_more_after_that(process: Process) -> None:
    memory = FreeMemory()
    process.work(600 * MB)
    memory.look()
    assert (process.given_back, process.resident) == (1, 40 * MB)
    for _ in range(10):
        process.work(40 * MB)
        memory.look()
    assert process.given_back == 1


def test_a_little_more_than_the_least_is_left_alone(process: Process) -> None:
    memory = FreeMemory()
    for _ in range(10):
        process.work(40 * MB + SLACK_BYTES)
        memory.look()
    assert process.given_back == 0
    process.work(40 * MB + SLACK_BYTES + 1)
    memory.look()
    assert process.given_back == 1


def test_a_busy_process_gives_back_at_the_last_of_some_looks(process: Process) -> None:
    memory = FreeMemory()
    for number in range(1, LOOKS + 1):
        process.work(600 * MB, BUSY_S)
        memory.look()
        assert process.given_back == (number == LOOKS)


def test_memory_that_is_freed_long_after_the_peak_is_given_back_too(process: Process) -> None:
    memory = FreeMemory()
    process.in_use = 600 * MB
    for _ in range(20):
        process.work(600 * MB)
        memory.look()
    process.in_use = 40 * MB  # freed, while the resident size stays
    for _ in range(LOOKS):
        process.work(600 * MB)
        memory.look()
    assert process.resident == 40 * MB


def test_a_process_that_does_nothing_gives_back_nothing_again(process: Process) -> None:
    memory = FreeMemory()
    process.in_use = 600 * MB
    process.work(600 * MB)
    for _ in range(20):
        memory.look()
    assert process.given_back == 1
