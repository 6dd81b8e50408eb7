"""Timers with a clock that is set by hand."""

from __future__ import annotations

import random
from functools import partial

import pytest

from kafkastore.purgatory.timer import MIN_COMPACTION, SLICE_MS, Timers
from unit.coordinator.group_world import ManualClock


def test_a_timer_fires_once_at_its_deadline() -> None:
    clock = ManualClock()
    fired: list[int] = []
    timer = Timers(clock).timer(lambda: fired.append(clock.elapsed_ms))
    timer.start(100)
    clock.advance(99)
    assert fired == []
    assert timer.is_running
    clock.advance(1000)
    assert fired == [100]
    assert not timer.is_running


def test_a_timer_that_is_started_again_fires_at_the_new_deadline_later_or_earlier() -> None:
    clock = ManualClock()
    fired: list[int] = []
    timer = Timers(clock).timer(lambda: fired.append(clock.elapsed_ms))
    timer.start(100)
    clock.advance(50)
    timer.start(100)
    clock.advance(200)
    assert fired == [150]
    timer.start(500)
    timer.start(10)
    clock.advance(1000)
    assert fired == [150, 260]


def test_a_cancelled_timer_does_not_fire_and_can_start_again() -> None:
    clock = ManualClock()
    fired: list[int] = []
    timer = Timers(clock).timer(lambda: fired.append(clock.elapsed_ms))
    timer.start(100)
    timer.cancel()
    timer.cancel()
    clock.advance(50)
    timer.start(100)
    clock.advance(1000)
    assert fired == [150]


def test_timers_fire_in_the_order_of_their_deadlines() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[int] = []
    delays = list(range(1, 200))
    random.Random(1).shuffle(delays)
    for delay in delays:
        timers.timer(lambda delay=delay: fired.append(delay)).start(delay)  # type: ignore[misc]
    clock.advance(1000)
    assert fired == sorted(delays)


def test_a_callback_that_starts_itself_with_no_delay_does_not_hold_the_loop() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    count = 0

    def again() -> None:
        nonlocal count
        count += 1
        if count < 10:
            timer.start(0)

    timer = timers.timer(again)
    timer.start(0)
    timers.run_due()
    assert count == 1


def test_heartbeats_leave_one_entry_for_each_timer() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    running = [timers.timer(lambda: None) for _ in range(100)]
    for _ in range(50):
        for timer in running:
            timer.start(10_000)
        clock.advance(3000)
    assert len(timers) == 100


def test_dead_entries_are_dropped_once_they_are_most() -> None:
    timers = Timers(ManualClock())
    for _ in range(20 * MIN_COMPACTION):
        timer = timers.timer(lambda: None)
        timer.start(300_000)
        timer.cancel()
    assert len(timers) <= MIN_COMPACTION


@pytest.mark.parametrize("seed", range(50))
def test_random_timers_match_a_naive_model(seed: int) -> None:
    chance = random.Random(seed)
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[tuple[int, int]] = []
    running = [timers.timer(lambda n=n: fired.append((clock.elapsed_ms, n))) for n in range(5)]  # type: ignore[misc]
    deadlines: dict[int, int] = {}
    wanted: list[tuple[int, int]] = []
    for _ in range(100):
        number = chance.randrange(5)
        if chance.random() < 0.2:
            running[number].cancel()
            deadlines.pop(number, None)
        else:
            delay = chance.randrange(1, 50)
            running[number].start(delay)
            deadlines[number] = clock.elapsed_ms + delay
        step = chance.randrange(20)
        end = clock.elapsed_ms + step
        due = sorted((when, n) for n, when in deadlines.items() if when <= end)
        for when, n in due:
            wanted.append((when, n))
            del deadlines[n]
        clock.advance(step)
        assert sorted(fired) == sorted(wanted)


def test_ten_thousand_due_timers_fire_in_slices() -> None:
    clock = ManualClock()
    timers = Timers(clock)
    fired: list[int] = []

    def fire(number: int) -> None:
        fired.append(number)
        clock.elapsed_ms += 1  # the time that firing takes

    for number in range(10_000):
        timers.timer(partial(fire, number)).start(1000)
    clock.elapsed_ms = 1000
    calls = 0
    while len(fired) < 10_000:
        before = len(fired)
        timers.run_due()
        calls += 1
        assert len(fired) - before <= SLICE_MS
        assert len(fired) == 10_000 or any(not wake.is_cancelled for wake in clock.wakes)  # there is a wake-up
    assert fired == list(range(10_000))
    assert calls >= 10_000 / SLICE_MS
