"""What a bulk load has brought into a topic is what producers would have: for the Java consumer, for kafka-dump-log,
and for Apache Kafka on the same directory, which also removes what a load has left there (docs/bulk-load.md)."""

from __future__ import annotations

import pyarrow as pa
import pytest

import kafkastore
from interop.checking import assert_check_finds_nothing
from interop.test_directories import AT_ONCE, assert_dump_log_accepts
from interop.transplant import transplant
from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import create_topic

PARTITIONS = 3
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ROWS = 1000
START_MS = 1_600_000_000_000
SMALL = {"segment.bytes": "1048576", "index.interval.bytes": "1024", "retention.ms": "-1"}


def rows_of(codec: str) -> list[JavaRecord]:
    """Records with and without keys and headers, and tombstones."""
    return [
        JavaRecord(
            partition=None,
            timestamp=START_MS + number,
            key=f"{codec} key {number % 97}".encode(),
            value=None if number % 50 == 7 else f"{codec} {number} ".encode() * (1 + number % 200),
            headers=(("codec", codec.encode()), ("none", None)) if number % 3 == 0 else (),
        )
        for number in range(ROWS)
    ]


def table_of(records: list[JavaRecord]) -> pa.Table:
    header = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
    return pa.table(
        {
            "key": pa.array([one.key for one in records], pa.binary()),
            "value": pa.array([one.value for one in records], pa.binary()),
            "timestamp": pa.array([one.timestamp for one in records], pa.timestamp("ms")),
            "headers": pa.array([list(one.headers) for one in records], pa.list_(header)),
        }
    )


def content(records: list[JavaRecord]) -> dict[int | None, list[tuple[object, ...]]]:
    """The records of each partition, in their order."""
    found: dict[int | None, list[tuple[object, ...]]] = {}
    for one in records:
        found.setdefault(one.partition, []).append((one.timestamp, one.key, one.value, one.headers))
    return found


@pytest.mark.timeout(300)
def test_loaded_records_are_where_a_java_producer_puts_them_and_apache_kafka_serves_them(
    broker_factory: BrokerFactory, java: JavaTools
) -> None:
    source = broker_factory(kind="kafkastore")
    produced = create_topic(source.bootstrap, "produced", PARTITIONS, SMALL)
    loaded = create_topic(source.bootstrap, "loaded", PARTITIONS, SMALL)
    for codec in CODECS:
        rows = rows_of(codec)
        java.produce(source.bootstrap, produced, rows)
        result = kafkastore.load(loaded, table_of(rows), bootstrap_servers=source.bootstrap, compression=codec)
        assert (result.records, sum(one.records for one in result.partitions.values())) == (ROWS, ROWS)
        java.produce(source.bootstrap, produced, [JavaRecord(0, START_MS, None, b"between")])
        java.produce(source.bootstrap, loaded, [JavaRecord(0, START_MS, None, b"between")])
    expected = java.consume(source.bootstrap, produced)
    found = java.consume(source.bootstrap, loaded)
    assert content(found) == content(expected)
    for partition in range(PARTITIONS):
        offsets = [one.offset for one in found if one.partition == partition]
        assert offsets == list(range(len(offsets)))
    assert_check_finds_nothing(source.log_dir)
    source.stop()
    assert_dump_log_accepts(java, source.log_dir, {loaded})
    target = broker_factory(AT_ONCE | {"log.segment.delete.delay.ms": "1000"}, kind="kafka")
    create_topic(target.bootstrap, loaded, PARTITIONS, SMALL)
    target.stop()
    transplant(source.log_dir, target.log_dir, {loaded})
    left = target.log_dir / f"{loaded}-1.load-77-3-delete"
    left.mkdir()
    (segment, *_) = sorted((target.log_dir / f"{loaded}-1").glob("*.log"))
    (left / f"{0:020}.log").write_bytes(segment.read_bytes()[:1000])
    target.start()
    assert java.consume(target.bootstrap, loaded) == found
    wait_until(lambda: not left.exists(), 60, "Apache Kafka to remove what a load has left")
