"""Placement in log directories and the housekeeping schedule."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from fake_engine import Engine
from world import broker_config, run

from kafkastore.errors import KafkaStorageError
from kafkastore.log.manager import LogManager

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def manager(folder: Path, **properties: str) -> tuple[LogManager, Engine]:
    config = broker_config(folder, log__dirs="/one,/two", **properties)
    engine = Engine(1, "cluster", config.log_dirs, {})
    return LogManager(config, engine), engine


def test_new_logs_go_where_the_fewest_are(tmp_path: Path) -> None:
    logs, _ = manager(tmp_path)
    logs.record("old", 0, "/one")
    logs.record("old", 1, "/one")
    assert logs.place("new", range(4)) == [(0, "/two"), (1, "/two"), (2, "/one"), (3, "/two")]
    assert logs.forget("new") == [0, 1, 2, 3]
    assert logs.place("next", [0]) == [(0, "/two")]


def test_failed_directory_gets_no_new_logs(tmp_path: Path) -> None:
    logs, _ = manager(tmp_path)
    logs.place("a", range(4))
    assert logs.fail("/one", "broken") == {"a": [0, 2]}
    assert logs.fail("/one", "again") == {}
    assert {directory for _, directory in logs.place("b", range(4))} == {"/two"}


def test_housekeeping_runs_when_due_and_again(tmp_path: Path) -> None:
    async def body() -> None:
        logs, engine = manager(tmp_path, log__retention__check__interval__ms="1")
        logs.start_housekeeping(asyncio.get_running_loop())
        await _until(lambda: engine.calls.count("run_retention") >= 3)
        await logs.stop_housekeeping()
        calls = len(engine.calls)
        await asyncio.sleep(0)
        assert len(engine.calls) == calls

    run(body)


def test_follower_that_lags_is_looked_for_each_second(tmp_path: Path) -> None:
    """With the default of 30 s a hung follower holds producers up for 31 s at most."""

    async def body() -> None:
        logs, _ = manager(tmp_path)
        logs.start_housekeeping(asyncio.get_running_loop())
        intervals = {job.name: job.interval_ms for job in logs._jobs}
        await logs.stop_housekeeping()
        assert intervals["in-sync set"] == 1000

    run(body)


def test_job_that_fails_is_logged_and_tried_again(tmp_path: Path) -> None:
    async def body() -> None:
        logs, engine = manager(tmp_path, log__retention__check__interval__ms="1")
        attempts: list[int] = []

        def fail() -> int:
            attempts.append(1)
            raise OSError("No space left on device")

        engine.run_retention = fail  # type: ignore[method-assign]
        logs.start_housekeeping(asyncio.get_running_loop())
        await _until(lambda: len(attempts) >= 2)
        await logs.stop_housekeeping()

    run(body)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - the double has no event for its calls
            await asyncio.sleep(0)


def test_new_log_is_refused_when_no_directory_works(tmp_path: Path) -> None:
    logs, _ = manager(tmp_path)
    for directory in ("/one", "/two"):
        logs.fail(directory, "broken")
    with pytest.raises(KafkaStorageError):
        logs.place("a", [0])


def test_log_that_is_gone_frees_its_place_and_leaves_the_others(tmp_path: Path) -> None:
    logs, _ = manager(tmp_path)
    logs.record("a", 0, "/one")
    logs.record("a", 1, "/one")
    logs.forget_partition("a", 0)
    assert (logs.directory_of("a", 0), logs.directory_of("a", 1)) == (None, "/one")
    for _ in range(2):  # repeated, or for an unknown partition: no change
        logs.forget_partition("a", 0)
        logs.forget_partition("b", 7)
    assert logs.place("c", range(2)) == [(0, "/two"), (1, "/one")]  # one each before
    logs.forget_partition("a", 1)
    assert logs.fail("/one", "broken") == {"c": [1]}
