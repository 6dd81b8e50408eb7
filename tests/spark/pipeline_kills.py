"""Kills the driver or an executor of the pipeline's works again and again, at random times, and compares input and
output: nothing lost, nothing twice, nothing left behind.

python -m spark.pipeline_kills --kills 10 [--works export,stream,sink,load] [--killed executor,driver] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic, read_topic, wait_until_stable
from spark.conftest import SMALL_SEGMENTS, Record, produce
from spark.driver import LIMIT_S, Driver
from spark.lake import is_tidy, rows
from spark.session import Cluster

PARTITIONS = 3
RECORDS = 8000
RECORD_BYTES = 2000
ROWS = 40_000
WORKS = ("export", "stream", "sink", "load")
KILLED = ("executor", "driver")
OF_CLUSTER = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.task.maxFailures": "100"}
Place = tuple[int, int]


class Trial:
    """One work with a broker of its own, killed so many times."""

    def __init__(self, folder: Path, work: str, rng: random.Random) -> None:
        self._folder = folder
        self._work = work
        self._rng = rng
        self._broker: BrokerProcess = KafkastoreBroker(folder / "broker")
        self._loads = 0

    def run(self, killed: str, kills: int) -> str:
        self._broker.start()
        at = self._broker.bootstrap
        create_topic(at, "flights", PARTITIONS, SMALL_SEGMENTS)
        create_topic(at, "copy", PARTITIONS, SMALL_SEGMENTS)
        cluster = (
            Cluster(self._folder, master_options={"spark.deploy.maxExecutorRetries": "-1"})
            if (killed == "executor")
            else None
        )
        try:
            runs = self._kill_executors(cluster, kills) if cluster else self._kill_drivers(kills)
            return f"{self._work}: {kills} kills of the {killed} in {runs} runs; {self._compare()}"
        finally:
            if cluster:
                cluster.close()
            self._broker.kill()

    def _add_input(self) -> None:
        """More records in the topic, or another load's rows."""
        self._loads += 1
        if self._work == "load":
            values = [value_of(self._loads, number) for number in range(ROWS)]
            table = pa.table({"value": pa.array(values, pa.binary())})
            (self._folder / "input").mkdir(exist_ok=True)
            pq.write_table(table, self._folder / "input" / "rows.parquet", row_group_size=2000)
        else:
            start = (self._loads - 1) * RECORDS
            codec = self._rng.choice(["none", "zstd", "lz4"])
            produce(self._broker, "flights", PARTITIONS, RECORDS, codec, start, RECORD_BYTES)

    def _start(self, master: str, conf: dict[str, str]) -> Driver:
        request: dict[str, object] = {
            "work": self._work,
            "master": master,
            "conf": conf,
            "bootstrap": self._broker.bootstrap,
            "path": str(self._broker.log_dir),
            "folder": str(self._folder),
            "input": str(self._folder / "input"),
            "load_id": f"load-{self._loads}",
        }
        driver = Driver("spark.pipeline_job", request, self._folder / "driver.log")
        driver.wait_for_start()
        return driver

    def _kill_drivers(self, kills: int) -> int:
        self._add_input()
        for kill in range(kills):
            driver = self._start("local[2,4]", {})
            time.sleep(self._rng.uniform(0.5, 6))
            if not driver.runs():
                driver.wait()
                self._add_input()  # the work had ended, which is no kill: another one
                driver = self._start("local[2,4]", {})
                time.sleep(self._rng.uniform(0.5, 3))
            assert driver.runs(), f"the work ended before kill {kill}"
            driver.kill()
            self._check_nothing_twice()
        self._start("local[2,4]", {}).wait()
        return kills + 1

    def _kill_executors(self, cluster: Cluster, kills: int) -> int:
        done = runs = 0
        while done < kills:
            self._add_input()
            driver = self._start(cluster.master, OF_CLUSTER)
            runs += 1
            while done < kills:
                time.sleep(self._rng.uniform(1, 4))
                if not driver.runs():
                    break
                if there := cluster.executors():
                    os.kill(self._rng.choice(there), signal.SIGKILL)
                    done += 1
            driver.wait()
            self._check_nothing_twice()
        return runs

    def _check_nothing_twice(self) -> None:
        found = self._output()
        assert set(found.values()) <= {1}, [one for one, count in found.items() if count > 1][:5]

    def _output(self) -> Counter[object]:
        if self._work == "export":
            return Counter(rows(self._folder / "lake"))
        if self._work == "stream":
            return Counter(_rows_of_sink(self._folder / "out"))
        copied = read_topic(self._broker.bootstrap, "copy", isolation_level="read_committed")
        return Counter((one.value() if self._work == "load" else _content(Record.of(one))) for one in copied)

    def _input(self) -> Counter[object]:
        if self._work == "load":
            return Counter(value_of(load, number) for load in range(1, self._loads + 1) for number in range(ROWS))
        records = [Record.of(one) for one in read_topic(self._broker.bootstrap, "flights")]
        if self._work == "sink":
            return Counter(map(_content, records))
        if self._work == "stream":
            return Counter((one.partition, one.offset) for one in records)
        return Counter(records)

    def _compare(self) -> str:
        found, expected = self._output(), self._input()
        assert found == expected, f"{(expected - found).total()} lost, {(found - expected).total()} too many"
        if self._work == "export":
            is_tidy(self._folder / "lake", self._folder / "lake.checkpoint")
        if self._work == "sink":
            wait_until_stable(self._broker.bootstrap, "copy", LIMIT_S)
        left = [path.name for path in self._broker.log_dir.glob("*.load-*")]
        assert left == []
        return f"{expected.total()} records, each once"


def value_of(load: int, number: int) -> bytes:
    return f"{load} {number} ".encode().ljust(600, b".")


def _content(record: Record) -> object:
    return record.timestamp_ms, record.key, record.value, record.headers


def _rows_of_sink(output: Path) -> Iterable[Place]:
    """(partition, offset) of the rows in the files that the log of Spark's own sink names."""
    log = output / "_spark_metadata"
    named: set[str] = set()
    for path in log.iterdir() if log.exists() else []:
        if path.name.isdigit() or path.name.endswith(".compact"):
            named |= {Path(json.loads(line)["path"]).name for line in path.read_text().splitlines()[1:]}
    for name in sorted(named):
        table = pq.read_table(output / name, columns=["partition", "offset"])
        yield from zip(table["partition"].to_pylist(), table["offset"].to_pylist(), strict=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--works", default=",".join(WORKS))
    parser.add_argument("--killed", default=",".join(KILLED))
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    sys.stdout.write(f"seed {asked.seed}\n")
    for work in asked.works.split(","):
        for killed in asked.killed.split(","):
            with tempfile.TemporaryDirectory() as folder:
                sys.stdout.write(f"{Trial(Path(folder), work, rng).run(killed, asked.kills)}\n")
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
