"""Every column of every record as Kafka's own Java consumer reads it, out of directories of Apache Kafka and of
ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import kafkastore
from interop.contents import Topic, create, fill, keep_as_it_is, read_all, topics_of
from interop.test_directories import assert_contents_are_what_they_should_be, serve_elsewhere
from kafkastore.scanning.bounds import COLUMNS
from peer.broker_factory import BrokerFactory
from scan.rows import Row, assert_rows, rows_of, rows_read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from peer.broker_process import BrokerProcess
    from peer.java_tools import JavaTools

Expected = dict[tuple[str, str], list[Row]]


@pytest.fixture
def factory(tmp_path: Path) -> Iterator[BrokerFactory]:
    made = BrokerFactory("kafkastore", tmp_path)
    yield made
    made.close()


def written_by(factory: BrokerFactory, java: JavaTools, kind: str) -> BrokerProcess:
    """A running broker of that kind with everything in its topics that a directory can hold."""
    broker = factory({"log.cleaner.backoff.ms": "200"} if kind == "kafka" else {}, kind=kind)
    topics = topics_of(kind)
    create(broker, [*topics, Topic("empty", 2, {})])
    fill(broker, java)
    if kind == "kafka":
        keep_as_it_is(broker)
    return broker


def read_by_java(broker: BrokerProcess, java: JavaTools, topics: list[Topic]) -> Expected:
    read = read_all(broker, java, topics)
    assert_contents_are_what_they_should_be(read)
    return {key: rows_read(key[0], records) for key, records in read.items()}


def assert_scans_equal(expected: Expected, broker: BrokerProcess, state: str, bootstrap: str | None = None) -> None:
    for (topic, isolation), rows in expected.items():
        scan = kafkastore.scan(
            broker.log_dir, topic, columns=COLUMNS, isolation_level=isolation, bootstrap_servers=bootstrap
        )
        what = f"{broker.kind}, {state}: {topic}, {isolation}"
        assert_rows(rows_of(scan), rows, what)
        assert scan.count() == len(rows), what
        shares = [row for share in scan.splits(5) for row in rows_of(share)]
        assert_rows(shares, rows, f"{what}, in shares")


@pytest.mark.timeout(180)
def test_directory_of_apache_kafka_reads_as_the_java_consumer_does(factory: BrokerFactory, java: JavaTools) -> None:
    """Codecs, headers, nulls, transactions, compaction, append times, deleted heads, segments; also when ours serves
    it."""
    source = written_by(factory, java, "kafka")
    topics = [*topics_of("kafka"), Topic("empty", 2, {})]
    expected = read_by_java(source, java, topics)
    assert_scans_equal(expected, source, "beside the live broker", source.bootstrap)
    assert_times_are_found(source, java)
    assert source.stop() in (0, 143)
    assert_scans_equal(expected, source, "after a clean stop")
    target = serve_elsewhere(factory, source, "kafkastore")
    served = {key: rows for key, rows in expected.items() if key[0] != "empty"}
    assert_scans_equal(served, target, "Kafka's directory served by ours", target.bootstrap)
    assert target.stop() == 0
    assert_scans_equal(served, target, "Kafka's directory after a clean stop of ours")


@pytest.mark.timeout(180)
def test_directory_of_ours_reads_as_the_java_consumer_does(factory: BrokerFactory, java: JavaTools) -> None:
    source = written_by(factory, java, "kafkastore")
    expected = read_by_java(source, java, topics_of("kafkastore"))
    assert_scans_equal(expected, source, "beside the live broker", source.bootstrap)
    assert_times_are_found(source, java)
    assert source.stop() == 0
    assert_scans_equal(expected, source, "after a clean stop")


def assert_times_are_found(broker: BrokerProcess, java: JavaTools) -> None:
    """A datetime bound is the offset that the broker's lookup by time gives, whatever has been deleted or
    compressed."""
    for topic in ("codecs", "deleted-heads", "append-time"):
        rows = rows_read(topic, java.consume(broker.bootstrap, topic))
        for row in (rows[len(rows) // 3], rows[-1]):
            for shift_ms in (0, 1):
                wanted_ms = row.timestamp // 1000 + shift_ms
                moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=wanted_ms)
                tail = java.consume(broker.bootstrap, topic, from_timestamp=wanted_ms)
                scan = kafkastore.scan(
                    broker.log_dir, topic, columns=COLUMNS, start=moment, bootstrap_servers=broker.bootstrap
                )
                assert_rows(rows_of(scan), rows_read(topic, tail), f"{topic} from {wanted_ms}")
                head = kafkastore.scan(
                    broker.log_dir, topic, columns=COLUMNS, end=moment, bootstrap_servers=broker.bootstrap
                )
                before = {(one.partition, one.offset) for one in rows_read(topic, tail)}
                assert_rows(rows_of(head), [one for one in rows if (one.partition, one.offset) not in before], topic)
