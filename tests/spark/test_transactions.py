"""Directories of Apache Kafka and of our running broker with committed, aborted, open and hanging transactions, under
both isolation levels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clients.conftest import START_TIME_MS, samples
from clients.test_kafka_transactions import hang, open_transaction
from peer.apache_kafka import ApacheKafka
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import create_topic, read_topic, wait_until_stable
from scan.transactional_log import LIMIT_S, SETTINGS, abort_hanging, write_ended_transactions
from spark.conftest import Record, Written
from spark.rows import collected, planned, read, records, with_millis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from peer.broker_factory import BrokerFactory
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
    assert frame.count() == len(expected[level])
    assert len(expected["read_committed"]) < len(expected["read_uncommitted"])


def read_by_consumers(broker: BrokerProcess) -> dict[str, list[Record]]:
    read = {level: map(Record.of, read_topic(broker.bootstrap, TOPIC, isolation_level=level)) for level in LEVELS}
    return {level: sorted(found, key=lambda one: one[2:5]) for level, found in read.items()}


def load(spark: SparkSession, broker: BrokerProcess, level: str) -> DataFrame:
    options = {"kafka_isolation_level": level, "kafka_bootstrap_servers": broker.bootstrap}
    return planned(with_millis(read(spark, Written(broker.log_dirs, {}), TOPIC, includeHeaders=True, **options)))


def test_queries_beside_our_broker_equal_a_consumer_before_and_after_transactions_end(
    spark: SparkSession, broker_factory: BrokerFactory
) -> None:
    """A query keeps the range it was planned with; the next one sees what ended meanwhile."""
    broker = broker_factory(SETTINGS, kind="kafkastore")
    write_ended_transactions(broker.bootstrap, TOPIC)
    hang(broker, TOPIC)
    opened = open_transaction(broker, TOPIC, "open")
    write_ended_transactions(broker.bootstrap, TOPIC)  # beyond them
    before = read_by_consumers(broker)
    frames = {level: load(spark, broker, level) for level in LEVELS}
    for level in LEVELS:
        assert frames[level].count() == len(before[level]), level
    abort_hanging(broker, TOPIC)
    opened.commit_transaction(LIMIT_S)
    wait_until_stable(broker.bootstrap, TOPIC, LIMIT_S)
    after = read_by_consumers(broker)
    assert len(before["read_committed"]) < len(after["read_committed"]) < len(after["read_uncommitted"])
    assert before["read_uncommitted"] == after["read_uncommitted"], "markers are no records"
    for level in LEVELS:
        assert collected(frames[level]) == before[level], level
        assert collected(load(spark, broker, level)) == after[level], level
        assert frames[level].count() == len(after[level]), level
