"""The loops of the log cleaner: when the engine is asked, and what becomes of an error."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stepped import Call, Engine
from world import broker_config, run, until

from kafkastore.config import BrokerConfig
from kafkastore.log.cleaner import LogCleaner


def report(outcome: str = "cleaned", **values: Any) -> SimpleNamespace:
    """A cleaning of ``t-0`` that read 1,000 bytes and wrote 100."""
    found = {
        "topic": "t", "partition": 0, "log_dir": "/one", "outcome": outcome, "reason": "", "first_dirty_offset": 0,
        "end_offset": 10, "indexed_bytes": 1000, "read_bytes": 1000, "written_bytes": 100, "read_records": 10,
        "kept_records": 1, "records_without_key": 0, "map_utilization": 0.5, "indexing_s": 0.1, "elapsed_s": 0.2,
    }  # fmt: skip
    return SimpleNamespace(**found | values)


class Reporting(Engine):
    """Gives these reports one after the other, then None."""

    def __init__(self, reports: list[SimpleNamespace | Exception]) -> None:
        super().__init__(1, "cluster", ["/one"], {})
        self.reports = reports
        self.threads: set[str] = set()

    def clean_filthiest(self) -> Any:
        self.made.append(Call("clean_filthiest", (), {}))
        self.threads.add(threading.current_thread().name)
        if not self.reports:
            return None
        given = self.reports.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


def cleaner_of(folder: Path, engine: Engine, **properties: str) -> tuple[LogCleaner, BrokerConfig]:
    config = broker_config(folder, **{"log__cleaner__backoff__ms": "1", **properties})
    return LogCleaner(config, engine), config  # type: ignore[arg-type]


def test_cleaner_goes_on_at_once_until_no_log_is_due_and_looks_again_after_the_backoff(tmp_path: Path) -> None:
    async def body() -> None:
        engine = Reporting([report(), report()])
        cleaner, _ = cleaner_of(tmp_path, engine)
        cleaner.start()
        await until(lambda: engine.calls.count("clean_filthiest") >= 5)
        await cleaner.stop()
        totals = cleaner.totals
        assert (totals.runs, totals.read_bytes, totals.written_bytes) == ({"cleaned": 2}, 2000, 200)
        assert (totals.recopy_ratio, totals.max_buffer_utilization) == (0.1, 0.5)
        assert engine.calls[-1] == "stop_cleaning" or engine.calls[-2] == "stop_cleaning"
        assert all(name.startswith("kafka-log-cleaner-thread") for name in engine.threads)

    run(body)


def test_thread_that_dies_is_counted_and_started_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        engine = Reporting([OSError("broken"), report()])
        cleaner, _ = cleaner_of(tmp_path, engine, log__cleaner__backoff__ms="20")
        cleaner.start()
        await until(lambda: cleaner.dead_threads == 1)
        await until(lambda: cleaner.totals.runs == {"cleaned": 1})
        assert cleaner.dead_threads == 0
        await cleaner.stop()

    run(body)
    assert "The log cleaner thread 0 died; it is started again" in caplog.text


def test_more_threads_are_started_at_run_time(tmp_path: Path) -> None:
    async def body() -> None:
        engine = Reporting([report() for _ in range(3)])
        cleaner, config = cleaner_of(tmp_path, engine)
        cleaner.start()
        assert len(cleaner._loops) == 1
        config.set_dynamic(broker={"log.cleaner.threads": "2"})
        engine.reports.append(report())
        await until(lambda: len(cleaner._loops) == 2)
        await cleaner.stop()

    run(body)


def test_thread_that_was_given_up_comes_back_when_it_is_wanted_again(tmp_path: Path) -> None:
    async def body() -> None:
        engine = Reporting([])
        cleaner, config = cleaner_of(tmp_path, engine, log__cleaner__threads="2")
        cleaner.start()
        second = cleaner._loops[1]
        config.set_dynamic(broker={"log.cleaner.threads": "1"})
        async with asyncio.timeout(10):
            await second
        config.set_dynamic(broker={"log.cleaner.threads": "2"})
        looks = engine.calls.count("clean_filthiest")
        await until(lambda: engine.calls.count("clean_filthiest") >= looks + 2)
        assert not cleaner._loops[1].done()
        await cleaner.stop()

    run(body)


def test_disabled_cleaner_cleans_nothing_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> None:
        engine = Reporting([report()])
        cleaner, _ = cleaner_of(tmp_path, engine, log__cleaner__enable="false")
        cleaner.start()
        await asyncio.sleep(0)
        await cleaner.stop()
        assert "clean_filthiest" not in engine.calls

    run(body)
    assert "log.cleaner.enable=false: compacted topics, consumer offsets among them, grow for ever" in caplog.text


def test_log_that_cannot_be_compacted_is_an_error_with_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body() -> None:
        reason = "/one/t-0/00000000000000000000.log is corrupt at position 0: bad"
        engine = Reporting([report("uncleanable", reason=reason), report("resting", reason="disk full")])
        cleaner, _ = cleaner_of(tmp_path, engine)
        cleaner.start()
        await until(lambda: cleaner.totals.runs == {"uncleanable": 1, "resting": 1})
        await cleaner.stop()

    run(body)
    (error,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "The log of t-0 cannot be compacted" in error.getMessage()
    assert "/one/t-0/00000000000000000000.log is corrupt" in error.getMessage()
    assert "The cleaning of t-0 ended early: disk full" in caplog.text
