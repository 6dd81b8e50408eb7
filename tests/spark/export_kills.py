"""Kills an export again and again, at random places of its work, and compares what it exported with the topic.

python -m spark.export_kills --kills 10 [--seed N]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peer.broker_process import BrokerProcess, wait_until
from peer.kafkastore_broker import KafkastoreBroker, executable
from peer.topics import create_topic, read_topic
from spark.conftest import SMALL_SEGMENTS, Record, produce
from spark.lake import is_tidy, manifests, rows
from spark.session import CONF, environment

LIMIT_S = 120.0
RECORDS = 2000
RECORD_BYTES = 2000
BATCH_BYTES = 200_000
"""Some twenty batches in a run."""
STAGES = ("staging", "query/commits", "batches")
"""Folders of the checkpoint: a kill comes soon after one of them has changed."""


def command(log_dirs: list[Path], output: Path) -> list[str]:
    conf = [part for name, value in CONF.items() for part in ("--conf", f"{name}={value}")]
    options = ["--topic", "flights", "--output", str(output), "--batch-size", str(BATCH_BYTES), "--json"]
    options += ["--target-file-size", "1M", "--partition-by", "hour", "--master", "local[2]"]
    return [executable(), "spark", "export", *map(str, log_dirs), *options, *conf]


def run(log_dirs: list[Path], output: Path) -> str:
    """A run to its end; returns what it printed."""
    env = os.environ | environment()
    done = subprocess.run(
        command(log_dirs, output), capture_output=True, text=True, timeout=LIMIT_S, env=env, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_and_kill(log_dirs: list[Path], output: Path, rng: random.Random, *, with_jvm: bool) -> str:
    """A run that is killed by SIGKILL: the Python process alone, or its JVM and workers too. Says where."""
    checkpoint = Path(f"{output}.checkpoint")
    folder = checkpoint / rng.choice(STAGES)
    before, more = changes(folder), rng.randrange(1, 6)
    process = subprocess.Popen(
        command(log_dirs, output),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | environment(),
        start_new_session=True,
    )
    try:
        seen = {before}

        def has_come_far() -> bool:
            seen.add(changes(folder))
            return len(seen) > more or process.poll() is not None

        wait_until(has_come_far, LIMIT_S, f"{folder} changes")
        time.sleep(rng.uniform(0, 0.3))
    finally:
        has_ended = process.poll() is not None
        if with_jvm and not has_ended:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.wait()
    what = "the JVM and its driver" if with_jvm else "the driver"
    how = "had ended before the kill of" if has_ended else f"was killed after {more} changes of {folder.name}:"
    return f"the run {how} {what}"


def changes(folder: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except FileNotFoundError:
        return ()


def trial(folder: Path, kills: int, seed: int) -> list[str]:
    """Exports a topic, to which records come between the runs, with so many kills. Asserts that nothing is lost, twice
    or left behind; returns what was done."""
    rng = random.Random(seed)
    broker: BrokerProcess = KafkastoreBroker(folder / "broker")
    broker.start()
    try:
        create_topic(broker.bootstrap, "flights", 3, SMALL_SEGMENTS)
        output = folder / "lake"
        told = []
        for kill in range(kills):
            produce(broker, "flights", 3, RECORDS, rng.choice(["none", "zstd", "lz4"]), kill * RECORDS, RECORD_BYTES)
            told.append(run_and_kill(broker.log_dirs, output, rng, with_jvm=kill % 2 == 1))
            seen = rows(output)
            assert len({one[2:5] for one in seen}) == len(seen), "a record is there twice after a kill"
        expected = sorted(map(Record.of, read_topic(broker.bootstrap, "flights")), key=lambda one: one[2:5])
        wait_until(lambda: watermarks_are_written(broker, len(expected)), LIMIT_S, "the checkpoint has all offsets")
        told.append(f"the last run: {run(broker.log_dirs, output).strip()}")
        assert rows(output) == expected
        is_tidy(output, Path(f"{output}.checkpoint"))
        told.append(f"{len(expected)} records in {len(manifests(Path(f'{output}.checkpoint')))} batches, each once")
        return told
    finally:
        broker.kill()


def watermarks_are_written(broker: BrokerProcess, records: int) -> bool:
    """Whether the high watermark checkpoint, which an export without a broker's address goes by, has all records."""
    path = broker.log_dir / "replication-offset-checkpoint"
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return sum(int(line.split()[2]) for line in lines if line.startswith("flights ")) == records


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for line in trial(Path(folder), asked.kills, asked.seed):
            sys.stdout.write(f"{line}\n")
    sys.stdout.write(f"seed {asked.seed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
