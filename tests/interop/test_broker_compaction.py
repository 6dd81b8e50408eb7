"""Two whole brokers, Apache Kafka's and ours, clean the same logs in the background and keep the same of them.

The cleaners alone, and the logs: test_compaction.py, which `make test` plays; `make proof` this, too. Here
the brokers choose logs and times themselves, so delete horizons are compared by their presence.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from interop.batches import HORIZON
from interop.cleaned import CleanedLog, differences, read_log
from interop.cleaners import LogCleaner, Request
from interop.compaction_logs import HOUR_MS, CompactedLog, Stage, draw
from interop.transplant import CHECKPOINTS, CLEAN_SHUTDOWN, OF_THE_TARGET, read_checkpoint
from peer.broker_process import BrokerProcess, wait_until
from peer.topics import create_topic

if TYPE_CHECKING:
    from pathlib import Path

    from peer.broker_factory import BrokerFactory

TOPICS = 16
ROUNDS = 2
LIMIT_S = 40
SOON = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "100", "log.cleaner.min.cleanable.ratio": "0"}


def choose(start_ms: int) -> dict[str, CompactedLog]:
    """Logs of the first seeds that a broker takes as they are: from offset 0 on, with possible timestamps, with enough
    rounds."""
    found: dict[str, CompactedLog] = {}
    seed = 0
    while len(found) < TOPICS:
        log = draw(seed, start_ms=start_ms, has_epochs=False)
        has_rounds = len(log.stages) >= ROUNDS and all(stage.segments for stage in log.stages[:ROUNDS])
        if has_rounds and log.first_offset == 0 and log.traits.odd_times == 0:
            found[f"compacted{seed}"] = log
        seed += 1
    return found


def config_of(topic: str) -> dict[str, str]:
    """Half of the topics keep tombstones for an hour, half of them until the next cleaning."""
    retention_ms = HOUR_MS if int(topic.removeprefix("compacted")) % 2 else 0
    return {"cleanup.policy": "compact", "delete.retention.ms": str(retention_ms)}


def fill(broker: BrokerProcess, stages: dict[str, Stage]) -> None:
    """Adds a stage's segments to each log of the stopped broker, as a crash leaves them. The old high watermarks go:
    else a cleaner may clean up to there before the broker leads, and the rest in another cleaning."""
    for name in (CLEAN_SHUTDOWN, "replication-offset-checkpoint"):
        (broker.log_dir / name).unlink(missing_ok=True)
    for topic, stage in stages.items():
        folder = broker.log_dir / f"{topic}-0"
        if stage.segments[0].base_offset == 0:
            for file in folder.iterdir():
                if file.name != OF_THE_TARGET:
                    file.unlink()
        for segment in stage.segments:
            segment.write(folder)


def wait_until_cleaned(broker: BrokerProcess, ends: dict[str, int]) -> None:
    path = broker.log_dir / "cleaner-offset-checkpoint"
    wanted = {f"{topic} 0": str(end) for topic, end in ends.items()}

    def is_cleaned() -> bool:
        return wanted.items() <= read_checkpoint(path).items()

    try:
        wait_until(is_cleaned, LIMIT_S, "the cleaner's checkpoint has every log's end")
    except AssertionError:
        found = read_checkpoint(path)
        missing = {topic: (end, found.get(topic)) for topic, end in wanted.items() if found.get(topic) != end}
        pytest.fail(f"{broker.kind}: wanted and found {missing}")


def without_times(log: CleanedLog) -> CleanedLog:
    segments = [
        replace(
            segment,
            modified_ms=0,
            batches=tuple(
                replace(batch, base_timestamp=0) if batch.flags & HORIZON else batch for batch in segment.batches
            ),
        )
        for segment in log.segments
    ]
    return replace(log, segments=tuple(segments), leftovers=())  # .deleted files stay for a minute


@pytest.mark.proof
@pytest.mark.timeout(180)
def test_brokers_clean_the_same_logs_equally(broker_factory: BrokerFactory, tmp_path: Path) -> None:
    logs = choose(start_ms=int(time.time() * 1000) - HOUR_MS)
    brokers = [broker_factory(SOON, kind=kind) for kind in ("kafka", "kafkastore")]
    for broker in brokers:
        for topic in logs:
            create_topic(broker.bootstrap, topic, 1, config_of(topic))
        broker.stop()
        for name in CHECKPOINTS:
            (broker.log_dir / name).unlink(missing_ok=True)
    ends: dict[str, int] = {}
    with LogCleaner("kafka", tmp_path / "cleaner.txt") as cleaner:
        for number in range(ROUNDS):
            stages = {topic: log.stages[number] for topic, log in logs.items()}
            for broker in brokers:
                fill(broker, stages)
            for topic in logs:
                folder = brokers[0].log_dir / f"{topic}-0"
                ends |= _end(cleaner, folder, topic, ends.get(topic), tmp_path / "asked")
            for broker in brokers:
                broker.start()
            for broker in brokers:
                wait_until_cleaned(broker, ends)
                broker.stop()
            for topic in logs:
                both = [without_times(read_log(broker.log_dir / f"{topic}-0")) for broker in brokers]
                both = [one.recovered() for one in both] if number else both
                unlike = differences(*both, compares_segments=not number)
                assert not unlike, (topic, number, unlike[:5])


def _end(cleaner: LogCleaner, folder: Path, topic: str, first_dirty: int | None, copy: Path) -> dict[str, int]:
    """Up to where a cleaning will clean the log, if it is due: asked on a copy."""
    shutil.copytree(folder, copy / folder.name)
    config = {**config_of(topic), "segment.bytes": str(1 << 30), "min.cleanable.dirty.ratio": "0"}
    asked = Request(str(copy / folder.name), int(time.time() * 1000), config, first_dirty=first_dirty)
    answer = cleaner.ask(asked)
    shutil.rmtree(copy)
    assert "error" not in answer, answer
    return {topic: answer["end"]} if "end" in answer else {}
