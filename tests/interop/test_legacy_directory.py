"""A log directory that Apache Kafka 0.10.2 wrote is put under our broker and read by the newest clients.

Magic 0 and 1, wrappers of each codec, wrappers that compaction has left with holes. The Java client of that release has
read the same directory: `tests/fixtures/legacy`, whose README has the recipe.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import kafkastore
from interop.checking import assert_check_finds_nothing
from interop.transplant import CLEAN_SHUTDOWN, transplant
from peer.java_tools import JavaRecord
from peer.topics import create_topic, read_topic

if TYPE_CHECKING:
    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess
    from peer.java_tools import JavaTools

FIXTURE = Path(__file__).parents[1] / "fixtures" / "legacy"
TOPICS = ("mixed", "append_time", "compacted")
KEEPS = {"retention.ms": "-1"}  # the records are years old
NOT_CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1"}


def expected(topic: str) -> list[JavaRecord]:
    """What the consumer of 0.10.2 read."""

    def row(line: str) -> JavaRecord:
        offset, timestamp, timestamp_type, *texts = line.split("\t")
        key, value = (None if text == "\\N" else text.encode() for text in texts)
        return JavaRecord(0, int(timestamp), key, value, (), int(offset), timestamp_type)

    return [row(line) for line in (FIXTURE / f"{topic}.tsv").read_text().splitlines()]


@pytest.fixture(params=["stopped cleanly", "killed"])
def broker_of_old_logs(request: pytest.FixtureRequest, broker_factory: BrokerFactory) -> BrokerProcess:
    """Our broker on the directory; after a kill it recovers all of it, and builds the indexes again."""
    broker = broker_factory(kind="kafkastore")
    for topic in TOPICS:
        create_topic(broker.bootstrap, topic, 1, NOT_CLEANED if topic == "compacted" else KEEPS)
    broker.stop()
    transplant(FIXTURE / "logs", broker.log_dir, set(TOPICS))
    if request.param == "killed":
        (broker.log_dir / "recovery-point-offset-checkpoint").unlink()
        for topic in TOPICS:
            for index in (broker.log_dir / f"{topic}-0").glob("*index"):
                index.unlink()
    else:
        (broker.log_dir / CLEAN_SHUTDOWN).touch()
    broker.start()
    return broker


def test_newest_clients_read_a_directory_of_0_10_record_for_record(
    broker_of_old_logs: BrokerProcess, java: JavaTools
) -> None:
    broker = broker_of_old_logs
    for topic in TOPICS:
        rows = expected(topic)
        assert java.consume(broker.bootstrap, topic) == rows, topic
        middle = rows[len(rows) // 2].offset
        found = java.consume(broker.bootstrap, topic, from_offset=middle)
        assert found == [row for row in rows if row.offset >= middle], f"{topic} from {middle} on"
        read = [(one.offset(), one.key(), one.value()) for one in read_topic(broker.bootstrap, topic)]
        assert read == [(row.offset, row.key, row.value) for row in rows], f"{topic} by librdkafka"
    assert_check_finds_nothing(broker.log_dir)


def test_scan_reads_a_directory_of_0_10_record_for_record(broker_of_old_logs: BrokerProcess) -> None:
    broker = broker_of_old_logs
    broker.stop()
    for topic in TOPICS:
        table = pa.table(kafkastore.scan(str(broker.log_dir), topic))
        found = table.select(["offset", "key", "value"]).to_pylist()
        assert found == [{"offset": row.offset, "key": row.key, "value": row.value} for row in expected(topic)], topic


def test_records_of_the_newest_client_follow_those_of_0_10(broker_of_old_logs: BrokerProcess, java: JavaTools) -> None:
    broker = broker_of_old_logs
    for topic in TOPICS:
        rows = expected(topic)
        added = JavaRecord(0, rows[-1].timestamp, b"new", b"value", (("trace", b"1"),))
        ((_, offset),) = java.produce(broker.bootstrap, topic, [added], compression_type="zstd")
        assert offset > rows[-1].offset
        read = java.consume(broker.bootstrap, topic)
        assert read[:-1] == rows, topic
        assert (read[-1].offset, read[-1].key, read[-1].headers) == (offset, b"new", added.headers)
