"""Logs drawn from seeds, cleaned by Apache Kafka's cleaner and by ours at the same times: equal, record for record.

    python -m interop.compaction --logs 200 --seed 0

For each stage of each log both cleaners get the same directory (or what the other has left of it) and the same time.
Compared are: the offsets that each chose, whether the log was due, up to where it is clean; then, by an independent
reader, every batch header and record, segments, aborted transactions, delete horizons, producer states and the times of
files. `--kinds kafka,kafka` compares Apache Kafka with itself.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from interop.batches import parse
from interop.cleaned import differences, read_log
from interop.cleaners import Answer, LogCleaner, Request
from interop.compaction_logs import CompactedLog, Stage, draw

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""The syncs of thousands of small files cost nothing there."""
FOLDER = "compacted-0"
SIZES = ("clean_bytes", "cleanable_bytes")
Pair = tuple[LogCleaner, LogCleaner]


@dataclass
class Outcome:
    """What the comparison of one log has found."""

    seed: int
    differences: list[str] = field(default_factory=list)
    """Of the first stage that has any."""
    stage: int = 0
    cleanings: int = 0
    records: int = 0
    kept_records: int = 0
    """By all cleanings."""


def compare(cleaners: Pair, log: CompactedLog, folder: Path) -> Outcome:
    """Two directories in `folder`, stage by stage until they differ; they stay there."""
    outcome = Outcome(log.seed)
    dirs = [folder / name / FOLDER for name in ("first", "second")]
    for each in dirs:
        each.mkdir(parents=True)
    first_dirty: int | None = None
    log_start = 0
    end_offset = log.first_offset
    for number, stage in enumerate(log.stages):
        outcome.stage = number
        if stage.exchanges:
            dirs.reverse()
        answers = []
        for cleaner, each in zip(cleaners, dirs, strict=True):
            for segment in stage.segments:
                segment.write(each)
            answers.append(cleaner.ask(request_of(stage, each, first_dirty, (log_start, end_offset))))
        outcome.differences = unlike(answers[0], answers[1], outcome.cleanings, log.first_offset)
        log_start = answers[0].get("log_start", 0)
        expiry_ms = stage.now_ms - stage.options["producer_expiration_ms"]
        visible = [read_log(each).without_expired(expiry_ms) for each in dirs]
        if log_start > log.first_offset:
            visible = [one.from_offset(log_start) for one in visible]
        if outcome.cleanings:  # sizes differ, and with them the groups of segments
            visible = [one.recovered() for one in visible]
        outcome.differences += differences(*visible, compares_segments=not outcome.cleanings)
        if outcome.differences:
            return outcome
        (answer, _), end_offset = answers, stage.end_offset
        first_dirty = answer.get("end", first_dirty)
        outcome.cleanings += "end" in answer
        outcome.kept_records += answer.get("kept_records", 0)
        outcome.records += sum(batch.record_count for one in stage.segments for batch in parse(b"".join(one.batches)))
    return outcome


def request_of(stage: Stage, folder: Path, first_dirty: int | None, extent: tuple[int, int]) -> Request:
    """`first_dirty` and `extent`, the log's start and end, are those of the stage before."""
    log_start, end_offset = extent
    checkpoints = {"kept": first_dirty, "lost": None, "zero": 0, "beyond": stage.end_offset + 5}
    return Request(
        dir=str(folder),
        now_ms=stage.now_ms,
        config=stage.config,
        recovery_point=0 if stage.reopens_from == "start" else end_offset,
        log_start=log_start,
        deletes_to=stage.deletes_to,
        first_dirty=checkpoints[stage.checkpoint],
        is_clean_shutdown=stage.reopens_from == "cleanly",
        deletes=stage.deletes,
        **stage.options,
    )


def unlike(one: Answer, other: Answer, cleanings: int, first_offset: int) -> list[str]:
    """After a cleaning, sizes of compressed batches differ. Below the log start, records that no reader sees may stay,
    and Apache Kafka leaves out an open transaction that begins there, while ours ends the stable part at the log
    start."""
    errors = [
        f"{which}: {answer['error']}" for which, answer in (("first", one), ("second", other)) if "error" in answer
    ]
    if errors:
        return errors
    ignored = {*SIZES} if cleanings else set()
    if one["log_start"] > first_offset:
        ignored |= {"kept_records"}
    if min(one["last_stable"], other["last_stable"]) <= one["log_start"]:
        ignored |= {"last_stable"}
    keys = sorted((one.keys() | other.keys()) - ignored)
    return [f"{key}: {one.get(key)} and {other.get(key)}" for key in keys if one.get(key) != other.get(key)]


def smallest(cleaners: Pair, log: CompactedLog, folder: Path) -> tuple[CompactedLog, Outcome]:
    """The log with as many batches left out as still leave a difference of the same kind. The last batch of a segment
    stays: it says where the next segment begins."""

    def run(tried: CompactedLog) -> Outcome:
        shutil.rmtree(folder, ignore_errors=True)
        return compare(cleaners, tried, folder)

    outcome = run(log)
    kind = _kind(outcome)
    log = replace(log, stages=log.stages[: outcome.stage + 1])
    places = [
        (stage, segment, batch)
        for stage, one in enumerate(log.stages)
        for segment, part in enumerate(one.segments)
        for batch in range(len(part.batches) - 1)
    ]
    left_out: set[tuple[int, int, int]] = set()
    size = max(1, len(places) // 2)
    while True:
        for at in range(0, len(places), size):
            tried = left_out | set(places[at : at + size])
            if tried != left_out and _kind(run(_without(log, tried))) == kind:
                left_out = tried
        if size == 1:
            return _without(log, left_out), run(_without(log, left_out))
        size //= 2


def _kind(outcome: Outcome) -> str:
    """The first difference without its numbers."""
    return re.sub("[0-9]+", "", outcome.differences[0].partition(":")[0][:20]) if outcome.differences else ""


def _without(log: CompactedLog, places: set[tuple[int, int, int]]) -> CompactedLog:
    stages = []
    for number, stage in enumerate(log.stages):
        segments = [
            replace(
                segment, batches=tuple(b for k, b in enumerate(segment.batches) if (number, which, k) not in places)
            )
            for which, segment in enumerate(stage.segments)
        ]
        stages.append(replace(stage, segments=tuple(segments)))
    return replace(log, stages=tuple(stages))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first log; the next have the numbers after it")
    parser.add_argument("--kinds", default="kafka,kafkastore")
    parser.add_argument("--keep", type=Path, help="a folder for the smallest case of each difference")
    parser.add_argument("--shrink", action="store_true", help="reduces each difference to its smallest case")
    arguments = parser.parse_args()
    begun = time.monotonic()
    outcomes = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        errors = arguments.keep or folder
        errors.mkdir(parents=True, exist_ok=True)
        one, other = (LogCleaner(kind, errors / f"{kind}.txt") for kind in arguments.kinds.split(","))
        with one, other:
            for seed in range(arguments.seed, arguments.seed + arguments.logs):
                log = draw(seed)
                outcome = compare((one, other), log, folder / str(seed))
                if outcome.differences and arguments.shrink:
                    log, outcome = smallest((one, other), log, folder / str(seed))
                if outcome.differences:
                    show(outcome)
                    if arguments.shrink:
                        describe(log)
                    if arguments.keep:
                        shutil.copytree(folder / str(seed), arguments.keep / str(seed), dirs_exist_ok=True)
                shutil.rmtree(folder / str(seed))
                outcomes.append(outcome)
    print(summary(outcomes, time.monotonic() - begun))
    return int(any(outcome.differences for outcome in outcomes))


def show(outcome: Outcome) -> None:
    print(f"seed {outcome.seed}, stage {outcome.stage}:")
    for line in outcome.differences[:8]:
        print(f"    {line[:300]}")


def describe(log: CompactedLog) -> None:
    """The batches and the times of a small log."""
    for number, stage in enumerate(log.stages):
        values = {name: value for name, value in vars(stage).items() if name != "segments"}
        print(f"  stage {number}: {values}")
        for segment in stage.segments:
            print(f"    segment {segment.base_offset}")
            for batch in parse(b"".join(segment.batches)):
                producer = f"{batch.producer_id}/{batch.producer_epoch}/{batch.base_sequence}"
                kind = (
                    batch.records[0].key if batch.is_control else f"{batch.record_count} records, flags {batch.flags}"
                )
                times = sorted({record.timestamp for record in batch.records})
                print(f"      {batch.base_offset}-{batch.last_offset} {producer} {kind!r} {times[0]}..{times[-1]}")


def summary(outcomes: list[Outcome], elapsed_s: float) -> str:
    unequal = [outcome.seed for outcome in outcomes if outcome.differences]
    cleanings = sum(outcome.cleanings for outcome in outcomes)
    records, kept = (sum(getattr(one, name) for one in outcomes) for name in ("records", "kept_records"))
    return f"{len(outcomes)} logs of {records} records, {cleanings} cleanings kept {kept}, in {elapsed_s:.0f} s: " + (
        f"{len(unequal)} differ, seeds {unequal}" if unequal else "all equal"
    )


if __name__ == "__main__":
    sys.exit(main())
