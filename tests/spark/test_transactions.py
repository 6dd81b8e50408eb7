"""Directories of Apache Kafka with committed, aborted and open transactions, under both isolation levels.

spec: R5.3, R3.6 (read_committed ends at the last stable offset and leaves out what was aborted)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.conftest import START_TIME_MS, samples
from peer.apache_kafka import ApacheKafka
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import create_topic
from spark.conftest import Record, Written
from spark.rows import read, records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from peer.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker

TOPIC = "transactions"
LEVELS = ("read_uncommitted", "read_committed")


def sent(count: int) -> list[JavaRecord]:
    return [
        JavaRecord(i % 2, START_TIME_MS + i, sample.key, sample.value, sample.headers)
        for i, sample in enumerate(samples(count))
    ]


def fill(broker: BrokerProcess, java: JavaTools) -> None:
    at = broker.bootstrap
    create_topic(at, TOPIC, 2, {"segment.bytes": "1048576", "retention.ms": "-1"})
    for number, end in enumerate(["commit", "abort", "commit", "abort"]):
        java.produce(at, TOPIC, sent(40), end, transactional_id=f"t{number}", compression_type="lz4")
        java.produce(at, TOPIC, sent(10))
    java.produce(at, TOPIC, sent(20), "open", transactional_id="open", transaction_timeout_ms="600000")
    java.produce(at, TOPIC, sent(10))  # beyond the last stable offset


def as_record(one: JavaRecord) -> Record:
    kind = 0 if one.timestamp_type == "CreateTime" else 1
    place = (TOPIC, one.partition or 0, one.offset)
    return Record(one.key, one.value, *place, one.timestamp or 0, kind, one.headers or None)


@pytest.fixture(scope="module")
def kafkas(tmp_path_factory: pytest.TempPathFactory, java: JavaTools) -> tuple[Written, dict[str, list[Record]]]:
    """The directory of an Apache Kafka that has stopped, and what its consumer read under each level."""
    broker = ApacheKafka(tmp_path_factory.mktemp("kafkas"))
    broker.start()
    try:
        fill(broker, java)
        found = {level: [*map(as_record, java.consume(broker.bootstrap, TOPIC, level))] for level in LEVELS}
        broker.stop()
    finally:
        broker.kill()
    return Written(broker.log_dirs, {TOPIC: found["read_uncommitted"]}), found


@pytest.mark.parametrize("level", LEVELS)
def test_both_isolation_levels_equal_kafkas_consumer(
    spark: SparkSession, kafkas: tuple[Written, dict[str, list[Record]]], level: str
) -> None:
    written, expected = kafkas
    frame = read(spark, written, TOPIC, includeHeaders=True, kafka_isolation_level=level, minPartitions=4)
    assert records(frame) == expected[level]
    assert len(expected["read_committed"]) < len(expected["read_uncommitted"])
