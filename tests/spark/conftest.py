"""Log directories that our broker wrote, what a consumer read of them, and one Spark session for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyspark
import pytest
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from clients.conftest import CODECS, START_TIME_MS, samples
from peer.broker_process import BrokerProcess
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import create_topic, place_of, read_topic
from spark import class_data
from spark.session import IS_SPARK_4, start_session

QUICK_CLEANER = {
    "log.initial.task.delay.ms": "100",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.min.cleanable.ratio": "0.01",
}
SMALL_SEGMENTS = {
    "segment.bytes": "1048576",
    "index.interval.bytes": "1024",
    "retention.ms": "-1",
    "message.timestamp.after.max.ms": str(1 << 62),  # records are a second apart, some hours from the first to the last
}
EACH_CODEC = 300
FLIGHTS = 2400
FLIGHT_BYTES = 2000
"""Two segments in each of three partitions."""
FLUSH_LIMIT_S = 30
LIMIT_S = 300
"""Of a test: the first one of a run starts a JVM and brokers."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Makes the archive of Spark's classes, in the time of no test. And lets pass what older PySpark itself warns of:
    before 4.2 it leaves the sockets of `collect` to the garbage collector, and 3.5 compares versions with distutils."""
    own = [item for item in items if Path(__file__).parent in item.path.parents]
    if own:
        class_data.options()
    for item in own:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_S))
    allowed = []
    if not hasattr(getattr(pyspark.util, "_load_from_socket", None), "__wrapped__"):  # it is no context manager
        allowed.append("ignore:Exception ignored in. <socket.socket .*raddr=:pytest.PytestUnraisableExceptionWarning")
    if not IS_SPARK_4:
        allowed.append("ignore:distutils Version classes are deprecated:DeprecationWarning")
    for item in items:
        for warning in allowed:
            item.add_marker(pytest.mark.filterwarnings(warning))


class Record(NamedTuple):
    """A record as Spark's Kafka source shows it; the timestamp in ms."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes | None], ...] | None

    @classmethod
    def of(cls, message: Message) -> Record:
        """As librdkafka read it."""
        partition, offset = place_of(message)
        kind, timestamp = message.timestamp()
        headers: Any = tuple(message.headers() or ()) or None
        return cls(
            message.key(), message.value(), message.topic() or "", partition, offset, timestamp, kind - 1, headers
        )


@dataclass(frozen=True)
class Written:
    """Log directories that no broker writes any more, and the records of each topic by partition and offset."""

    log_dirs: list[Path]
    records: dict[str, list[Record]]

    @property
    def path(self) -> str:
        return ",".join(map(str, self.log_dirs))


def produce(
    broker: BrokerProcess, topic: str, partitions: int, count: int, codec: str, start: int = 0, size: int = 100
) -> None:
    """`count` records a second apart, in small batches, by turns to each partition."""
    settings = {"compression.type": codec, "batch.size": 4000, "linger.ms": 5, "enable.idempotence": True}
    refused: list[str] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "on_delivery": lambda error, _: refused.append(error.str()) if error else None,
            **settings,
        }
    )
    for number, sample in enumerate(samples(count, size), start):
        timestamp = START_TIME_MS + 1000 * number
        headers: Any = list(sample.headers)
        producer.produce(topic, sample.value, sample.key, number % partitions, timestamp=timestamp, headers=headers)
    assert producer.flush(FLUSH_LIMIT_S) == 0
    assert refused == []


def write(broker: BrokerProcess) -> dict[str, list[Record]]:
    """Topics of every shape; returns what a consumer reads of each."""
    at = broker.bootstrap
    create_topic(at, "codecs", 2, SMALL_SEGMENTS)
    for number, codec in enumerate(CODECS):
        produce(broker, "codecs", 2, EACH_CODEC, codec, number * EACH_CODEC)
    create_topic(at, "flights", 3, SMALL_SEGMENTS)
    produce(broker, "flights", 3, FLIGHTS, "none", size=FLIGHT_BYTES)
    create_topic(at, "append-time", 1, {**SMALL_SEGMENTS, "message.timestamp.type": "LogAppendTime"})
    produce(broker, "append-time", 1, 50, "zstd")
    create_topic(at, "empty", 2)
    topics = ("codecs", "flights", "append-time", "empty")
    return {topic: sorted(map(Record.of, read_topic(at, topic)), key=lambda one: one[3:5]) for topic in topics}


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Two log directories of our broker, which has stopped."""
    folder = tmp_path_factory.mktemp("written")
    with KafkastoreBroker(folder, log_dirs=[folder / "a", folder / "b"]).running() as broker:
        records = write(broker)
        assert broker.stop() == 0
    return Written(broker.log_dirs, records)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """On `local[2]`."""
    session = start_session("local[2]")
    yield session
    session.stop()
