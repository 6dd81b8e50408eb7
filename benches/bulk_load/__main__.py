"""Bulk load beside the same records through producers: ``make bulk-load-bench``.

All ways bring the same values of 1 KB into a topic of four partitions, without a codec, and end when the broker has
acknowledged all of them (acks=all). The producers are librdkafka by kcat, one for each core, which read the values as
lines from files in memory, and write to our broker and to Apache Kafka's; the load gets the values as Arrow. With
``--spark`` a data frame is written: by ``kafkastore.spark.load``, and by Spark's connector to either broker.

Each round has topics of its own, which are deleted after it. Prints seconds and MB/s of values, without Spark also the
CPU seconds of clients and broker. A disk that takes less than the ways give makes them alike; ``--folder /dev/shm``
keeps the brokers' files in memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka.admin import AdminClient
from load.process import cpu_seconds
from pyspark.sql import DataFrame, SparkSession

import kafkastore
import kafkastore.spark
from kafkastore.spark import configure
from peer.apache_kafka import ApacheKafkaForMeasurement
from peer.broker_process import BrokerProcess
from peer.jars import connector_jars
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic, end_offsets

VALUE_BYTES = 1000
PARTITIONS = 4
PRODUCERS = 2
ROWS_AT_ONCE = 65_536
SETTLE_S = 3.0
"""Between two ways: the deleted files go."""
MEMORY = Path("/dev/shm")
SPARK = {
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
Way = Callable[[BrokerProcess, str], float]
"""Brings the rows into a topic; returns the seconds."""


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


def load(broker: BrokerProcess, topic: str, rows: int) -> float:
    given = batches(rows)
    begun = time.perf_counter()
    kafkastore.load(topic, given, bootstrap_servers=broker.bootstrap)
    return time.perf_counter() - begun


def produce(broker: BrokerProcess, topic: str, lines: Path) -> float:
    settings = ["acks=all", "batch.size=1000000", "linger.ms=50", "queue.buffering.max.kbytes=1000000"]
    options = [part for setting in settings for part in ("-X", setting)]
    command = ["kcat", "-P", "-b", broker.bootstrap, "-t", topic, *options, "-l", str(lines)]
    begun = time.perf_counter()
    running = [subprocess.Popen(command) for _ in range(PRODUCERS)]
    for process in running:
        if process.wait() != 0:
            raise SystemExit(f"kcat ended with {process.returncode}")
    return time.perf_counter() - begun


def start_spark() -> SparkSession:
    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    builder: Any = SparkSession.builder.master(f"local[{PRODUCERS}]").appName("kafkastore-bench")
    builder = configure(builder.config("spark.jars", connector_jars()))
    for name, setting in SPARK.items():
        builder = builder.config(name, setting)
    spark: SparkSession = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def frame(spark: SparkSession, rows: int) -> DataFrame:
    text = f"rpad(lpad(id, 15, '0'), {VALUE_BYTES}, ' 0123456789abcdef')"
    return spark.range(0, rows, 1, PRODUCERS).selectExpr(f"cast({text} as binary) as value")


def spark_load(broker: BrokerProcess, topic: str, given: DataFrame) -> float:
    begun = time.perf_counter()
    kafkastore.spark.load(topic, given, bootstrap_servers=broker.bootstrap)
    return time.perf_counter() - begun


def spark_write(broker: BrokerProcess, topic: str, given: DataFrame) -> float:
    begun = time.perf_counter()
    given.write.format("kafka").options(
        **{
            "kafka.bootstrap.servers": broker.bootstrap,
            "topic": topic,
            "kafka.acks": "all",
            "kafka.batch.size": "1000000",
            "kafka.linger.ms": "50",
            "kafka.buffer.memory": "268435456",
        }
    ).save()
    return time.perf_counter() - begun


def cpu_s(broker: BrokerProcess) -> float:
    """Of the broker, of this process, which loads, and of the producers that have ended."""
    return cpu_seconds(broker.pid) + sum(os.times()[:4])


def measure(ways: dict[str, tuple[BrokerProcess, Way]], rows: int, rounds: int) -> dict[str, list[float]]:
    """The seconds of each round, by way."""
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds):
        for name, (broker, way) in ways.items():
            topic = create_topic(broker.bootstrap, f"{name.replace(' ', '-')}-{number}", PARTITIONS)
            before = cpu_s(broker)
            took = way(broker, topic)
            cpu = cpu_s(broker) - before
            ends = sum(end for _, end in end_offsets(broker.bootstrap, topic).values())
            if ends != rows:
                raise SystemExit(f"{topic} has {ends} records of {rows}")
            seconds[name].append(took)
            told = "" if "spark" in name else f", {cpu:.2f} s of CPU"
            print(f"{name}: {took:.2f} s, {rows * VALUE_BYTES / took / 1e6:.0f} MB/s{told}", flush=True)
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            admin.delete_topics([topic])[topic].result(30)
            time.sleep(SETTLE_S)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="bulk_load")
    parser.add_argument("--mb", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where the brokers' files go (default: the folder for temporary files)")
    parser.add_argument("--spark", action="store_true", help="a data frame, by Spark's tasks")
    given = parser.parse_args()
    rows = given.mb * 1_000_000 // VALUE_BYTES // PRODUCERS * PRODUCERS
    with tempfile.TemporaryDirectory(dir=MEMORY) as memory, tempfile.TemporaryDirectory(dir=given.folder) as folder:
        settings = {"log.segment.delete.delay.ms": "0"}
        ours = KafkastoreBroker(Path(folder) / "kafkastore", settings)
        kafka = ApacheKafkaForMeasurement(Path(folder) / "kafka", settings)
        ways: dict[str, tuple[BrokerProcess, Way]]
        if given.spark:
            rows_of = frame(start_spark(), rows)
            ways = {
                "spark load": (ours, lambda broker, topic: spark_load(broker, topic, rows_of)),
                "spark connector": (ours, lambda broker, topic: spark_write(broker, topic, rows_of)),
                "spark connector to kafka": (kafka, lambda broker, topic: spark_write(broker, topic, rows_of)),
            }
        else:
            lines = Path(memory) / "lines"
            write_lines(lines, rows // PRODUCERS)
            ways = {
                "load": (ours, lambda broker, topic: load(broker, topic, rows)),
                "producers": (ours, lambda broker, topic: produce(broker, topic, lines)),
                "producers to kafka": (kafka, lambda broker, topic: produce(broker, topic, lines)),
            }
        with ExitStack() as stack:
            for broker in (ours, kafka):
                broker.start()
                stack.callback(broker.stop)
            seconds = measure(ways, rows, given.rounds)
    medians = {way: statistics.median(times) for way, times in seconds.items()}
    first = next(iter(medians.values()))
    for way, median in medians.items():
        print(f"median of {way}: {median:.2f} s, {median / first:.1f} times the load")


if __name__ == "__main__":
    main()
