"""Apache Kafka's cleaner and ours keep the same of the same logs, also when a kill cuts a cleaning short.

`make compactions` compares hundreds of logs. Those of `make test` are the first of `make proof`: ten logs
have each kind of record, of batch and of configuration many times.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from interop.batches import HORIZON, Batch
from interop.cleaned import CleanedLog, differences, read_log
from interop.cleaners import LogCleaner, Request
from interop.compaction import FOLDER, compare
from interop.compaction_logs import draw
from interop.half_cleaned import RENAMES, faults, kills, prepare
from proof.scope import played

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from peer.java_tools import JavaTools

SEEDS = range(played(10, 300))
DUMPED_SEEDS = range(40, played(43, 60))
KILLED_SEED = 3
KILLED_AT = played((5,), (2, 5, 9))
"""Of Apache Kafka's renames: a JVM starts for each."""


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LogCleaner]:
    with LogCleaner("kafka", tmp_path_factory.mktemp("cleaners") / "kafka.txt") as cleaner:
        yield cleaner


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LogCleaner]:
    with LogCleaner("kafkastore", tmp_path_factory.mktemp("cleaners") / "kafkastore.txt") as cleaner:
        yield cleaner


@pytest.mark.timeout(played(120, 900))
def test_logs_of_many_kinds_are_cleaned_as_apache_kafka_cleans_them(
    kafka: LogCleaner, ours: LogCleaner, tmp_path: Path
) -> None:
    cleanings = 0
    for seed in SEEDS:
        outcome = compare((kafka, ours), draw(seed), tmp_path / str(seed))
        assert not outcome.differences, (seed, outcome.stage, outcome.differences[:5])
        cleanings += outcome.cleanings
    assert cleanings > len(SEEDS) / 2


def test_kafka_dump_log_accepts_cleaned_segments(
    java: JavaTools, kafka: LogCleaner, ours: LogCleaner, tmp_path: Path
) -> None:
    for seed in DUMPED_SEEDS:
        log = draw(seed)
        stages = tuple(replace(stage, exchanges=False) for stage in log.stages)
        compare((kafka, ours), replace(log, stages=stages), tmp_path / str(seed))
    folders = sorted(tmp_path.glob(f"*/second/{FOLDER}"))
    logs = sorted(str(path) for folder in folders for path in folder.glob("*.log"))
    dumped = java.tool("kafka-dump-log", "--deep-iteration", "--files", ",".join(logs))
    assert dumped.exit == 0, dumped.err
    assert dumped.out.count("isvalid: true") == sum(len(read_log(folder).batches) for folder in folders)
    assert "isvalid: false" not in dumped.out
    for suffix in ("index", "timeindex"):
        indexes = [str(path) for folder in folders for path in sorted(folder.glob(f"*.{suffix}"))]
        checked = java.tool("kafka-dump-log", "--index-sanity-check", "--files", ",".join(indexes))
        verdicts = checked.out.count("passed sanity check") + checked.out.count(" is empty")
        assert (checked.exit, verdicts) == (0, len(indexes)), checked.out
        deep = java.tool("kafka-dump-log", "--files", ",".join(indexes))
        assert not re.search(r"[Mm]ismatch|not found|out of order", deep.out + deep.err), deep.out[-3000:]


# ---- the comparison itself
def _without_a_record(log: CleanedLog) -> CleanedLog:
    return _changed(log, lambda batches: [replace(batches[0], records=batches[0].records[1:]), *batches[1:]])


def _without_a_batch(log: CleanedLog) -> CleanedLog:
    return _changed(log, lambda batches: batches[1:])


def _with_another_horizon(log: CleanedLog) -> CleanedLog:
    def change(batches: tuple[Batch, ...]) -> list[Batch]:
        at = next(at for at, batch in enumerate(batches) if batch.flags & HORIZON)
        return [*batches[:at], replace(batches[at], base_timestamp=1), *batches[at + 1 :]]

    return _changed(log, change)


def _without_aborted(log: CleanedLog) -> CleanedLog:
    return replace(log, segments=tuple(replace(segment, aborted=()) for segment in log.segments))


def _with_a_leftover(log: CleanedLog) -> CleanedLog:
    return replace(log, leftovers=("00000000000000000000.log.swap",))


def _changed(log: CleanedLog, change: Callable[..., list[Batch]]) -> CleanedLog:
    first, *others = log.segments
    return replace(log, segments=(replace(first, batches=tuple(change(first.batches))), *others))


@pytest.mark.parametrize(
    "wrong", [_without_a_record, _without_a_batch, _with_another_horizon, _without_aborted, _with_a_leftover]
)
def test_wrong_result_is_found(ours: LogCleaner, tmp_path: Path, wrong: Callable[[CleanedLog], CleanedLog]) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    stage = draw(22).stages[0]
    for segment in stage.segments:
        segment.write(folder)
    config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0"}
    assert "end" in ours.ask(Request(str(folder), stage.now_ms, config))
    log = read_log(folder)
    assert differences(log, log) == []
    assert differences(log, wrong(log))


def test_uncleaned_log_is_no_cleaned_log(kafka: LogCleaner, ours: LogCleaner, tmp_path: Path) -> None:
    class Idle(LogCleaner):
        def ask(self, request: Request) -> dict[str, object]:
            return ours.ask(replace(request, cleans=False))

    with Idle("kafkastore", tmp_path / "idle.txt") as idle:
        assert any(compare((kafka, idle), draw(seed), tmp_path / str(seed)).differences for seed in SEEDS[:5])


# ---- kills
def test_cleaning_of_ours_that_is_killed_at_any_rename_is_opened_by_apache_kafka(
    kafka: LogCleaner, tmp_path: Path
) -> None:
    case = prepare(draw(KILLED_SEED), kafka, tmp_path)
    assert case
    count = 0
    for name, left in kills(case, "kafkastore", tmp_path, RENAMES):
        count += 1
        assert not faults(case, kafka, left), name
    assert count > 10


def test_cleaning_of_apache_kafka_that_is_killed_is_opened_by_ours(ours: LogCleaner, tmp_path: Path) -> None:
    case = prepare(draw(KILLED_SEED), ours, tmp_path)
    assert case
    for name, left in kills(case, "kafka", tmp_path, ("rename",), KILLED_AT):
        assert not faults(case, ours, left), name
