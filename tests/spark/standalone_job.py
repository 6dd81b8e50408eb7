"""A driver of queries on the cluster of `spark.standalone`, for tests that ask it: JSON requests in, one a line, JSON
answers out.

python -m spark.standalone_job FOLDER

Prints the facts of the cluster when it has started, and ends at the end of its input, and the whole private machine
with it. A request names the function below that answers it. The exit status is 2 when this machine cannot have private
machines.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from confluent_kafka import Producer

import kafkastore.spark
from clients.conftest import CODECS, START_TIME_MS
from cluster.faults import private_machine
from cluster.faults.network import CLIENTS, Network
from peer.broker_process import wait_until
from peer.topics import read_settled, read_topic
from spark.conftest import FLUSH_LIMIT_S, SMALL_SEGMENTS, Record, produce
from spark.session import JAR, QUICK_JVM, start_session
from spark.standalone import MARKER, HostedBrokers, Standalone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from peer.kafkastore_broker import KafkastoreBroker

SPREAD, COPIED = "spread", "copied"
TOPICS = {SPREAD: [[1], [2], [3]], COPIED: [[1, 2], [2, 3], [3, 1]]}
"""The brokers that have each partition, its leader first."""
DIVERGED = "diverged"
COMPACTED, COMPACTED_RECORDS, ONCE = "compacted", 1500, range(400, 420)
EACH_CODEC = 240
"""Records of a topic under each codec."""
RECORD_BYTES = 1000
TAGGED = "host string, topic string, partition int, offset long, fingerprint long"
TAGGED_COLUMNS = [field.split(" ")[0] for field in TAGGED.split(", ")]


def fingerprint(*fields: object) -> int:
    """Of the key, the value, the timestamp in ms, its type and the headers of a record."""
    return zlib.crc32(repr(fields).encode())


def fingerprint_of(record: Record) -> int:
    return fingerprint(record.key, record.value, record.timestamp_ms, record.timestamp_type, record.headers)


def tagged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task: where each record is, its fingerprint, and the host that reads it."""
    import pyarrow as pa

    host = os.environ["KAFKASTORE_TEST_HOST"]
    for batch in batches:
        timestamps_us = batch["timestamp"].cast(pa.int64()).to_pylist()
        prints = []
        for row, timestamp_us in zip(batch.drop_columns(["timestamp"]).to_pylist(), timestamps_us, strict=True):
            headers = tuple((one["key"], one["value"]) for one in row["headers"]) if row["headers"] else None
            prints.append(fingerprint(row["key"], row["value"], timestamp_us // 1000, row["timestampType"], headers))
        columns = [pa.array([host] * batch.num_rows), batch["topic"], batch["partition"], batch["offset"]]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(prints, pa.int64())], names=TAGGED_COLUMNS)


def numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task: each number as a key, and beside it the host as a value."""
    import pyarrow as pa

    for batch in batches:
        columns = [batch["id"].cast(pa.string()), pa.array([os.environ["KAFKASTORE_TEST_HOST"]] * batch.num_rows)]
        yield pa.RecordBatch.from_arrays(columns, names=["key", "value"])


def looking(template: str, here: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Runs in a task: the brokers whose directories its host sees, and the one whose directory is `here`."""

    def look(_: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        found = [node for node in (1, 2, 3) if os.listdir(template.replace("{broker.id}", str(node)))]
        with open(f"{here}/meta.properties") as file:
            found += [int(line.split("=")[1]) for line in file if line.startswith("node.id=")]
        columns = [pa.array([os.environ["KAFKASTORE_TEST_HOST"]]), pa.array([found], pa.list_(pa.int32()))]
        yield pa.RecordBatch.from_arrays(columns, names=["host", "seen"])

    return look


class Job:
    """The cluster, and a session on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        network = Network()
        self.brokers = HostedBrokers(folder, network)
        self.standalone = Standalone(folder, network)
        self.standalone.start_master()
        self.brokers.start()
        self.standalone.start_workers()
        with ThreadPoolExecutor(1) as pool:
            written = pool.submit(self._write_topics)
            self.standalone.wait_for_workers()
            self.spark = session(self.standalone.master, folder)
            written.result()

    def _write_topics(self) -> None:
        for topic, assignment in TOPICS.items():
            self.brokers.create_on(topic, assignment, {**SMALL_SEGMENTS, "min.insync.replicas": "1"})
            for number, codec in enumerate(CODECS):
                produce(self.brokers.broker(1), topic, 3, EACH_CODEC, codec, number * EACH_CODEC, RECORD_BYTES)
        self.brokers.wait_in_sync(COPIED, 2)
        self._write_compacted()
        self.brokers.create_marker()
        produce(self.brokers.broker(1), MARKER, 3, 3, "none")

    def _write_compacted(self) -> None:
        """A topic whose log is cleaned on broker 3 and not on broker 2. Each record is a batch, and all have one size.
        Some keys occur once, in the segment that is cleaned."""
        config = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "1048576"}
        self.brokers.create_on(COMPACTED, [[2, 3]], config)
        settings = {"bootstrap.servers": self.brokers.bootstrap, "batch.num.messages": 1, "linger.ms": 0}
        producer = Producer(settings)
        for number in range(COMPACTED_RECORDS):
            key = f"once {number:03}" if number in ONCE else f"key  {number % 10:03}"
            value = f"value {number:06} ".ljust(RECORD_BYTES, ".")
            producer.produce(COMPACTED, value, key, 0, timestamp=START_TIME_MS)
        assert producer.flush(FLUSH_LIMIT_S) == 0
        first = f"{COMPACTED}-0/{0:020}.log"
        whole, cleaned = (self.brokers.broker(node).log_dir / first for node in (2, 3))

        def is_cleaned() -> bool:
            with suppress(FileNotFoundError):  # while the cleaner puts the new file in its place
                return cleaned.stat().st_size * 5 < whole.stat().st_size
            return False

        wait_until(is_cleaned, FLUSH_LIMIT_S, "broker 3 cleans its log")
        self.brokers.wait_in_sync(COMPACTED, 2)

    def facts(self) -> dict[str, Any]:
        return {
            "template": self.standalone.template,
            "seen": self.standalone.seen,
            "here": str(self.standalone.here),
            "consumed": {topic: self._consumed(topic) for topic in (*TOPICS, COMPACTED)},
        }

    def _consumed(self, topic: str) -> list[Any]:
        """(topic, partition, offset, fingerprint) of each record, as a plain consumer reads it."""
        found = [Record.of(message) for message in read_topic(self.brokers.bootstrap, topic)]
        return sorted([one.topic, one.partition, one.offset, fingerprint_of(one)] for one in found)

    # ---- the requests
    def look(self) -> dict[str, list[int]]:
        """By host: the brokers whose directories it sees, and last the broker whose directory is `here`."""
        look = looking(self.standalone.template, str(self.standalone.here))
        rows = self.spark.range(0, 2, 1, 2).mapInArrow(look, "host string, seen array<int>").collect()
        return {row.host: row.seen for row in rows}

    def read(self, options: dict[str, str]) -> dict[str, Any]:
        """A read in which each record is tagged with the host that reads it."""
        frame = self._frame(options)
        rows = frame.mapInArrow(tagged, TAGGED).collect()
        return {"plan": frame._jdf.queryExecution().toString(), "rows": [list(row) for row in rows]}

    def count(self, options: dict[str, str]) -> int:
        return self._frame(options).count()

    def fetched(self) -> dict[int, int]:
        """The bytes of the topics that consumers, Spark's tasks among them, have fetched from each broker so far."""
        return self.brokers.fetched_bytes([*TOPICS, COMPACTED])

    def write(self, topic: str, records: int, options: dict[str, str]) -> list[Any]:
        """Numbers, written by four tasks; (number, host that wrote it) of each record that a consumer reads then."""
        self.brokers.create_on(topic, [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
        frame = self.spark.range(0, records, 1, 4).mapInArrow(numbered, "key string, value string")
        given = {"kafka.bootstrap.servers": self.brokers.bootstrap, "topic": topic, **options}
        frame.write.format("kafkastore").options(**given).save()
        messages = read_settled(self.brokers.bootstrap, topic)
        return [[int(message.key() or b""), (message.value() or b"").decode()] for message in messages]

    def load(self, topic: str, assignment: list[list[int]], source: dict[str, str]) -> dict[str, Any]:
        """A bulk load of what a read gives, by one task: the error, or the number of records; and what is left."""
        self.brokers.create_on(topic, assignment, {"min.insync.replicas": "1", "retention.ms": "-1"})
        frame = self._frame(source).select("key", "value")
        outcome: dict[str, Any] = {"error": None}
        try:
            kafkastore.spark.load(topic, frame, bootstrap_servers=self.brokers.bootstrap, tasks=1, timeout_s=30)
        except Exception as error:  # noqa: BLE001 - the test says which one it must be
            outcome["error"] = str(error)
        found = read_topic(self.brokers.bootstrap, topic)
        staged = [str(path) for broker in self.brokers.brokers for path in broker.log_dir.glob("*.load-*")]
        return outcome | {"records": len(found), "staged": staged}

    def diverge(self) -> list[Any]:
        """Broker 2 leads a partition and dies with records that its follower, broker 3, has not fetched. Broker 3 leads
        then, and has others of the same size in their place. Returns what a consumer reads."""
        self.brokers.create_on(DIVERGED, [[2, 3]], {"min.insync.replicas": "1"})
        led, follower = self.brokers.broker(2), self.brokers.broker(3)
        self._produce_batches(led, "all", "both")
        self.brokers.wait_in_sync(DIVERGED, 2)
        self.brokers.cut(2, 3)
        self._produce_batches(led, "1", "gone")
        led.kill()
        self.brokers.heal()
        assert self.brokers.leader(DIVERGED) == 3
        self._produce_batches(follower, "1", "kept")
        return self._consumed(DIVERGED)

    def _produce_batches(self, broker: KafkastoreBroker, acks: str, word: str) -> None:
        """Ten records, each one a batch."""
        settings = {"bootstrap.servers": broker.bootstrap, "acks": acks, "batch.num.messages": 1, "linger.ms": 0}
        producer = Producer(settings)
        for number in range(10):
            producer.produce(DIVERGED, f"{word} {number:03}".ljust(RECORD_BYTES, "."), timestamp=START_TIME_MS)
        assert producer.flush(FLUSH_LIMIT_S) == 0

    def _frame(self, options: dict[str, str]) -> DataFrame:
        given = {"kafka.bootstrap.servers": self.brokers.bootstrap, "includeHeaders": "true", **options}
        return self.spark.read.format("kafkastore").options(**given).load()


def session(master: str, folder: Path) -> SparkSession:
    temporary = folder / "temporary-driver"
    temporary.mkdir()
    os.environ.update({"SPARK_LOCAL_DIRS": str(temporary), "TMPDIR": str(temporary)})
    conf = {
        "spark.jars": str(JAR),
        "spark.driver.bindAddress": CLIENTS,
        "spark.driver.host": CLIENTS,
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} -Djava.io.tmpdir={temporary}",
        "spark.cores.max": "2",
        "spark.executor.cores": "1",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no task before both executors are there
        "spark.locality.wait": "0s",  # the second task of a host that is busy goes to the other host at once
    }
    return start_session(master, conf)


def serve(job: Job, requests: IO[str], answers: IO[str]) -> None:
    def answer(found: object) -> None:
        answers.write(json.dumps(found) + "\n")
        answers.flush()

    answer(job.facts())
    for line in requests:
        request = json.loads(line)
        answer(getattr(job, request.pop("ask"))(**request))


def main() -> int:
    try:
        private_machine.enter("spark.standalone_job", sys.argv[1:])
    except private_machine.MachineError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what Spark prints is no answer
    job = Job(Path(sys.argv[1]).resolve())
    serve(job, sys.stdin, answers)
    job.spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
