"""Bulk load beside the same records through producers, on one broker: ``make bulk-load-bench``.

Both ways bring the same values of 1 KB into a topic of four partitions, without a codec, and end when the broker has
acknowledged all of them (acks=all). The producers are librdkafka by kcat, one for each core, which read the values as
lines from files in memory; the load gets them as Arrow. Each round has topics of its own, which are deleted after it.
Prints seconds, MB/s of values, and the CPU seconds of clients and broker. A disk that takes less than both ways give
makes them alike; ``--folder /dev/shm`` keeps the broker's files in memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import pyarrow as pa
from confluent_kafka.admin import AdminClient
from load.process import cpu_seconds

import kafkastore
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic, end_offsets

VALUE_BYTES = 1000
PARTITIONS = 4
PRODUCERS = 2
ROWS_AT_ONCE = 65_536
MEMORY = Path("/dev/shm")


def value(number: int) -> bytes:
    return (f"{number:015d} ".encode() + VALUE_BYTES // 16 * b"0123456789abcdef")[:VALUE_BYTES]


def batches(rows: int) -> pa.RecordBatchReader:
    """The values as Arrow, made before the clock runs; each batch is used again, with the same bytes as the lines."""
    one = pa.record_batch({"value": pa.array([value(number) for number in range(ROWS_AT_ONCE)], pa.binary())})
    parts = [one.slice(0, min(ROWS_AT_ONCE, rows - first)) for first in range(0, rows, ROWS_AT_ONCE)]
    return pa.RecordBatchReader.from_batches(one.schema, parts)


def write_lines(path: Path, rows: int) -> None:
    with path.open("wb") as file:
        block = b"".join(value(number) + b"\n" for number in range(ROWS_AT_ONCE))
        for first in range(0, rows, ROWS_AT_ONCE):
            file.write(block[: min(ROWS_AT_ONCE, rows - first) * (VALUE_BYTES + 1)])


def load(broker: KafkastoreBroker, topic: str, rows: int) -> float:
    given = batches(rows)
    begun = time.perf_counter()
    kafkastore.load(topic, given, bootstrap_servers=broker.bootstrap)
    return time.perf_counter() - begun


def produce(broker: KafkastoreBroker, topic: str, lines: Path) -> float:
    settings = ["acks=all", "batch.size=1000000", "linger.ms=50", "queue.buffering.max.kbytes=1000000"]
    options = [part for setting in settings for part in ("-X", setting)]
    command = ["kcat", "-P", "-b", broker.bootstrap, "-t", topic, *options, "-l", str(lines)]
    begun = time.perf_counter()
    running = [subprocess.Popen(command) for _ in range(PRODUCERS)]
    for process in running:
        if process.wait() != 0:
            raise SystemExit(f"kcat ended with {process.returncode}")
    return time.perf_counter() - begun


def cpu_s(broker: KafkastoreBroker) -> float:
    """Of the broker, of this process, which loads, and of the producers that have ended."""
    return cpu_seconds(broker.pid) + sum(os.times()[:4])


def main() -> None:
    parser = argparse.ArgumentParser(prog="bulk_load")
    parser.add_argument("--mb", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the broker's files go (default: the folder for temporary files)")
    given = parser.parse_args()
    rows = given.mb * 1_000_000 // VALUE_BYTES // PRODUCERS * PRODUCERS
    seconds: dict[str, list[float]] = {"load": [], "producers": []}
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory, tempfile.TemporaryDirectory(dir=given.folder) as folder:
        lines = Path(memory) / "lines"
        write_lines(lines, rows // PRODUCERS)
        broker = KafkastoreBroker(Path(folder) / "broker", {"log.segment.delete.delay.ms": "0"})
        broker.start()
        try:
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            for number in range(given.rounds):
                for way in ("load", "producers"):
                    topic = create_topic(broker.bootstrap, f"{way}-{number}", PARTITIONS)
                    before = cpu_s(broker)
                    took = load(broker, topic, rows) if way == "load" else produce(broker, topic, lines)
                    cpu = cpu_s(broker) - before
                    ends = sum(end for _, end in end_offsets(broker.bootstrap, topic).values())
                    if ends != rows:
                        raise SystemExit(f"{topic} has {ends} records of {rows}")
                    seconds[way].append(took)
                    rate = rows * VALUE_BYTES / took / 1e6
                    print(f"{way}: {took:.2f} s, {rate:.0f} MB/s, {cpu:.2f} s of CPU", flush=True)
                    admin.delete_topics([topic])[topic].result(30)
                    time.sleep(3)  # the deleted files go
        finally:
            broker.stop()
    best = {way: statistics.median(times) for way, times in seconds.items()}
    ratio = best["producers"] / best["load"]
    print(f"median: load {best['load']:.2f} s, producers {best['producers']:.2f} s, ratio {ratio:.1f}")


if __name__ == "__main__":
    main()
