"""Cleanings killed at each of their calls, and what the other broker finds when it opens the directory.

    python -m interop.half_cleaned --seed 3 --logs 4

A tracer (strace) kills the cleaner's process at its n-th rename, unlink, write, sync or truncation, for every n. Then
the other cleaner opens the log, with recovery, and cleans it to the end. Before and after that hold:

- (a) every record that the whole cleaning keeps is there, and nothing that the log never had;
- (b) of no key an older value is left without the last one;
- (c) what was committed is committed, what was aborted is not (:func:`committed`, from batches and markers alone);
- (d) the log ends where it ended, and no file of the cleaning is left over.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from interop.batches import COMMIT, TRANSACTIONAL, Record
from interop.cleaned import CleanedLog, read_log
from interop.cleaners import LogCleaner, Request
from interop.compaction import FOLDER, MEMORY
from interop.compaction_logs import HOUR_MS, CompactedLog, draw

CALLS = ("rename", "unlink", "pwrite64", "write", "fsync", "fdatasync", "ftruncate")
RENAMES = ("rename", "unlink")
"""The calls between which the names in the directory differ."""
ALL = range(1, 100_000)
RETENTION_MS = 1000


@dataclass(frozen=True)
class Case:
    """A log that was cleaned once and has got more records; delete horizons have passed when it is cleaned again."""

    folder: Path
    request: Request
    before: CleanedLog
    after: CleanedLog


def prepare(log: CompactedLog, cleaner: LogCleaner, folder: Path) -> Case | None:
    """None when the second cleaning has nothing to do."""
    (first, second), end_offset = log.stages[:2], log.stages[0].end_offset
    config = {**first.config, **_AT_ONCE}
    before = folder / "before" / FOLDER
    before.mkdir(parents=True)
    for segment in first.segments:
        segment.write(before)
    request = Request(str(before), first.now_ms, config, producer_expiration_ms=24 * HOUR_MS)
    answer = cleaner.ask(request)
    assert "error" not in answer, answer
    for segment in second.segments:
        segment.write(before)
    now_ms = second.now_ms + RETENTION_MS
    again = replace(request, now_ms=now_ms, first_dirty=answer.get("end"), recovery_point=end_offset)
    after = folder / "after" / FOLDER
    shutil.copytree(before, after)
    answer = cleaner.ask(replace(again, dir=str(after)))
    assert "error" not in answer, answer
    return Case(before, again, read_log(before), read_log(after)) if "end" in answer else None


_AT_ONCE = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": str(RETENTION_MS),
}


def kills(
    case: Case, kind: str, folder: Path, calls: tuple[str, ...] = CALLS, numbers: Iterable[int] = ALL
) -> Iterator[tuple[str, Path]]:
    """(name, directory) of each call at which the cleaner of that kind was killed; the directory is gone afterwards."""
    for call in calls:
        for number in numbers:
            left = folder / f"{call}-{number}" / FOLDER
            shutil.copytree(case.folder, left)
            answer = _run_killed(kind, replace(case.request, dir=str(left)), (call, number), folder / "killed.txt")
            was_killed = "error" in answer
            if was_killed:
                yield f"{kind} killed at {call} {number}", left
            shutil.rmtree(left.parent)
            if not was_killed:  # it makes fewer calls
                break


def _run_killed(kind: str, request: Request, place: tuple[str, int], log: Path) -> dict[str, object]:
    call, number = place
    kill = f"inject={call}:signal=SIGKILL:when={number}"
    tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", kill]
    with LogCleaner(kind, log, tracer) as cleaner:
        return cleaner.ask(request)


def faults(case: Case, opener: LogCleaner, left: Path) -> list[str]:
    """Opens what the kill has left, then cleans it to the end."""
    found = []
    for cleans in (False, True):
        answer = opener.ask(replace(case.request, dir=str(left), recovery_point=0, cleans=cleans))
        if "error" in answer:
            return [f"{opener.kind}: {answer['error']}"]
        log = read_log(left)
        found += [f"{'cleaned' if cleans else 'opened'}: {fault}" for fault in _faults_of(case, log)]
        found += [f"log end {answer['log_end']}"] if answer["log_end"] != _end(case.before) else []
    return found


def _end(log: CleanedLog) -> int:
    return log.batches[-1].last_offset + 1


def _faults_of(case: Case, log: CleanedLog) -> Iterator[str]:
    had, kept, found = (committed(each) for each in (case.before, case.after, log))
    for offset in sorted(kept.keys() | found.keys()):
        if offset not in found:
            yield f"record {offset} is missing"
        elif found[offset] != had.get(offset):
            yield f"record {offset} is {found[offset]}, was {had.get(offset)}"
    newest = {record.key: record for _, record in sorted(had.items())}
    for key, record in {record.key: record for _, record in sorted(found.items())}.items():
        if record != newest[key]:
            yield f"key {key!r}: {record.offset} is left, {newest[key].offset} was the last"
    yield from (f"left over: {name}" for name in log.leftovers if not name.endswith(".tmp"))  # a snapshot of ours


def committed(log: CleanedLog) -> dict[int, Record]:
    """What a read_committed reader gets, and what is still undecided."""
    found: dict[int, Record] = {}
    pending: dict[int, list[Record]] = {}
    for batch in log.batches:
        if batch.is_control:
            records = pending.pop(batch.producer_id, [])
            if batch.records and _is_commit(batch.records[0]):
                found |= {record.offset: record for record in records}
        elif batch.flags & TRANSACTIONAL:
            pending.setdefault(batch.producer_id, []).extend(batch.records)
        else:
            found |= {record.offset: record for record in batch.records}
    return found | {record.offset: record for records in pending.values() for record in records}


def _is_commit(record: Record) -> bool:
    return record.key is not None and int.from_bytes(record.key[2:4], "big") == COMMIT


def run(
    seeds: range, killed: str, opener: LogCleaner, folder: Path, calls: tuple[str, ...], say: Callable[[str], None]
) -> tuple[int, int]:
    """(kills, faults); `opener` also prepares the logs."""
    number = wrong = 0
    for seed in seeds:
        log = draw(seed)
        if len(log.stages) < 2 or not log.stages[1].segments:
            continue
        place = folder / f"{killed}-{seed}"
        case = prepare(log, opener, place)
        for name, left in kills(case, killed, place, calls) if case else ():
            number += 1
            for fault in faults(case, opener, left) if case else ():
                wrong += 1
                say(f"seed {seed}, {name}, {opener.kind} opens: {fault[:200]}")
        shutil.rmtree(place, ignore_errors=True)
    return number, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--logs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--killed", default="kafka,kafkastore")
    parser.add_argument("--calls", default=",".join(CALLS))
    arguments = parser.parse_args()
    seeds, failed = range(arguments.seed, arguments.seed + arguments.logs), 0
    for killed in arguments.killed.split(","):
        begun = time.monotonic()
        other = "kafkastore" if killed == "kafka" else "kafka"
        with tempfile.TemporaryDirectory(dir=MEMORY) as name, LogCleaner(other, Path(name) / "opener.txt") as opener:
            calls = tuple(arguments.calls.split(","))
            number, wrong = run(seeds, killed, opener, Path(name), calls, print)
        failed += wrong
        print(f"{killed} killed {number} times, opened by {other}, in {time.monotonic() - begun:.0f} s: {wrong} faults")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
