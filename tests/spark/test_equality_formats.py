"""Topics of every shape that a log can have, read row by row as Spark's own Kafka source reads them: from files and
over the network.

Each broker, ours and in `make proof` Apache Kafka's, has the same topics (``test_connector.py`` and ``interop`` read
directories of Apache Kafka in every run): messages of magic 0 and 1, batches of each codec,
transactions that were committed, aborted or are open, a compacted log, logs whose beginning was deleted. One query
reads all topics; each test compares one topic.
"""

from __future__ import annotations

import json
import os
import random
import struct
import time
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer, TopicPartition

from clients.conftest import CODECS, START_TIME_MS, samples
from clients.test_kafka_transactions import open_transaction
from interop.batches import compress
from interop.test_legacy_directory import NOT_CLEANED
from interop.transplant import read_checkpoint, transplant
from peer.broker_factory import BrokerFactory
from peer.broker_process import wait_until
from peer.topics import admin_client, create_topic, end_offsets
from proof.scope import played
from scan.transactional_log import end, write_ended_transactions
from scan.transactional_log import producer as transactional
from spark.conftest import QUICK_CLEANER, SMALL_SEGMENTS, Record
from spark.rows import records
from spark.session import HAS_CONNECTOR
from spark.test_network import ways

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from peer.broker_process import BrokerProcess

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a run starts a JVM and a broker
    pytest.mark.skipif(not HAS_CONNECTOR, reason="the connector is of another version of Spark"),
]

LIMIT_S = 30.0
MINUTE_MS = 60_000
QUICK = {
    **QUICK_CLEANER,
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "0",
}
"""A broker that cleans and deletes at once."""
ROLLS = {**SMALL_SEGMENTS, "segment.ms": str(MINUTE_MS)}
"""A record that is a minute younger than the first of its segment begins another."""
FIXTURE = Path(__file__).parents[1] / "fixtures" / "legacy" / "logs"
OF_0_10 = ("mixed", "append_time", "compacted")
"""The topics of the fixture, which Apache Kafka 0.10.2 wrote."""
OLD_CODECS = CODECS[:4]
BUILT = "built"
"""Messages of magic 0, then of magic 1, that this file builds, then batches."""
TOPICS = (*OF_0_10, BUILT, "codecs", "append-time", "transactions", "cleaned", "deleted", "expired", "empty")
LEVELS = ("read_uncommitted", "read_committed")
BOUNDS = "bounds"
"""Each partition from within it to within it, in pieces."""
TIMES = "times"
QUERIES = (*LEVELS, BOUNDS, TIMES)
CONNECTOR, FILES, NETWORK, ALONE = "connector", "files", "network", "files-alone"
COMPARED = [*((query, way) for query in QUERIES for way in (FILES, NETWORK)), *((level, ALONE) for level in LEVELS)]
PROMPT = {"kafka.fetch.max.wait.ms": "20"}
"""The connector's last fetch, which finds nothing when a range ends with a hole, waits no longer."""


def send(
    broker: BrokerProcess, topic: str, partitions: int, count: int, codec: str, start_ms: int = START_TIME_MS
) -> None:
    """Records of every shape, a second apart, in small batches, by turns to each partition. Without idempotence, for
    which a producer waits half a second."""
    refused: list[str] = []
    settings: dict[str, Any] = {"compression.type": codec, "batch.size": 4000, "linger.ms": 5}
    settings["on_delivery"] = lambda error, _: refused.append(error.str()) if error else None
    producer = Producer({"bootstrap.servers": broker.bootstrap, **settings})
    for number, one in enumerate(samples(count)):
        headers: Any = list(one.headers)
        timestamp = start_ms + 1000 * number
        producer.produce(topic, one.value, one.key, number % partitions, timestamp=timestamp, headers=headers)
    assert producer.flush(LIMIT_S) == 0
    assert refused == []


# ---- messages of before 0.11
def message(
    offset: int, magic: int, timestamp_ms: int, attributes: int, key: bytes | None, value: bytes | None
) -> bytes:
    """docs/internals/storage.md has the layout."""
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp_ms) if magic else b"")
    for data in (key, value):
        body += struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def wrapper(magic: int, codec: str, offsets: Sequence[int], base: int, chosen: random.Random) -> bytes:
    """Messages of these ascending offsets in one that is compressed; without a codec, the messages themselves."""
    inner, times = b"", []
    for offset in offsets:
        times.append(START_TIME_MS + 1000 * offset + chosen.randrange(500))
        key = None if chosen.random() < 0.2 else b"key-%d" % chosen.randrange(9)
        value = None if chosen.random() < 0.1 else b"%d " % offset * chosen.choice([0, 1, 20, 300])
        stored = offset - base if magic and codec != "none" else offset
        inner += message(stored, magic, times[-1], 0, key, value)
    if codec == "none":
        return inner
    return message(offsets[-1], magic, max(times), CODECS.index(codec), None, compress(codec, inner))


def build_log(folder: Path) -> int:
    """Two segments of magic 0 and two of magic 1, each with holes as compaction leaves them; returns the log's end."""
    folder.mkdir(parents=True)
    chosen = random.Random(7)
    offset = 0
    for magic in (0, 0, 1, 1):
        segment, first = b"", offset
        for number in range(24):
            codec = OLD_CODECS[number % 4]
            base = offset
            offset += chosen.randrange(1, 9)
            kept = [one for one in range(base, offset) if one in (first, offset - 1) or chosen.random() < 0.8]
            segment += wrapper(magic, codec, kept, base, chosen)
        path = folder / f"{first:020}.log"
        path.write_bytes(segment)
        os.utime(path, (0, 0))  # Kafka looks for a time in each segment of magic 0 that was changed since
    return offset


def put_old_logs(broker: BrokerProcess, folder: Path) -> None:
    """Under a broker that restarts as after a crash, and so reads all of them."""
    for topic in (*OF_0_10, BUILT):
        create_topic(broker.bootstrap, topic, 1, NOT_CLEANED if topic == "compacted" else {"retention.ms": "-1"})
    broker.stop()
    log_end = build_log(folder / f"{BUILT}-0")
    transplant(FIXTURE, broker.log_dir, set(OF_0_10))
    transplant(folder, broker.log_dir, {BUILT})
    broker.start()
    wait_until(lambda: end_offsets(broker.bootstrap, BUILT) == {0: (0, log_end)}, LIMIT_S, "the old log is served")
    for topic in ("mixed", "append_time", BUILT):
        send(broker, topic, 1, 20, "zstd")


# ---- the other topics
def write_cleaned(broker: BrokerProcess) -> None:
    """A segment for each codec, with keys that come again, tombstones and aborted records."""
    create_topic(broker.bootstrap, "cleaned", 1, {**ROLLS, "cleanup.policy": "compact"})
    number, now_ms = 0, int(time.time() * 1000)
    for part, codec in enumerate(CODECS):
        sender = transactional(broker.bootstrap, f"cleaned-{codec}", codec)
        for commits in (True, False, True, False):
            sender.begin_transaction()
            for _ in range(30):
                key = b"only-%d" % number if number % 7 == 0 else b"key-%d" % (number % 23)
                value = None if number % 11 == 5 else b"value %d" % number * 5
                headers: Any = [("n", b"%d" % number), ("none", None)] if number % 3 == 0 else []
                timestamp = now_ms + part * 2 * MINUTE_MS + number
                sender.produce("cleaned", value, key, 0, timestamp=timestamp, headers=headers)
                number += 1
            assert sender.flush(LIMIT_S) == 0  # an abort forgets what was not sent yet
            end(sender, commits=commits)


def wait_until_cleaned(broker: BrokerProcess) -> None:
    def is_cleaned() -> bool:
        last = max(int(path.stem) for path in (broker.log_dir / "cleaned-0").glob("*.log"))
        to = read_checkpoint(broker.log_dir / "cleaner-offset-checkpoint").get("cleaned 0", "0")
        return 0 < last == int(to)

    wait_until(is_cleaned, LIMIT_S, "all but the last segment is cleaned")


def write_deleted(broker: BrokerProcess) -> None:
    """Deleted up to within a batch, up to the end, up to the end with records behind it, and not at all."""
    create_topic(broker.bootstrap, "deleted", 4, ROLLS)
    send(broker, "deleted", 4, 600, "lz4")
    asked = [TopicPartition("deleted", number, offset) for number, offset in enumerate((67, 150, 150))]
    admin = admin_client(broker.bootstrap)  # kept: its requests end with its last reference
    for done in admin.delete_records(asked).values():
        done.result(LIMIT_S)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(60):
        timestamp = START_TIME_MS + 700_000 + number
        producer.produce("deleted", b"behind %d" % number, b"key", 2 + number % 2, timestamp=timestamp)
    assert producer.flush(LIMIT_S) == 0


def write_expired(broker: BrokerProcess) -> None:
    """Segments of an hour ago, which retention deletes, and those of now."""
    create_topic(broker.bootstrap, "expired", 1, {**ROLLS, "retention.ms": str(30 * MINUTE_MS)})
    send(broker, "expired", 1, 200, "gzip")
    send(broker, "expired", 1, 150, "snappy", int(time.time() - 200) * 1000)


def write(broker: BrokerProcess, folder: Path) -> Producer:
    """All topics; returns the producer whose transaction is open."""
    at = broker.bootstrap
    create_topic(at, "codecs", 2, ROLLS)
    for number, codec in enumerate(CODECS):
        send(broker, "codecs", 2, 200, codec, START_TIME_MS + number * 200_000)
    create_topic(at, "append-time", 1, {**SMALL_SEGMENTS, "message.timestamp.type": "LogAppendTime"})
    for codec in CODECS:
        send(broker, "append-time", 1, 20, codec)
    create_topic(at, "empty", 2)
    write_cleaned(broker)
    write_deleted(broker)
    write_expired(broker)
    put_old_logs(broker, folder)
    write_ended_transactions(at, "transactions")
    opened = open_transaction(broker, "transactions", "open")
    send(broker, "transactions", 2, 40, "none")  # beyond the last stable offset of partition 0
    wait_until(lambda: end_offsets(at, "expired")[0][0] == 200, LIMIT_S, "the old segments are deleted")
    wait_until_cleaned(broker)
    return opened


# ---- the queries
Ends = dict[str, dict[int, tuple[int, int]]]
"""The low and the high watermark by topic and partition."""


@dataclass(frozen=True)
class Found:
    """What the queries of one broker gave."""

    ends: Ends
    rows: dict[tuple[str, str], dict[str, list[Record]]]
    """By query, way (CONNECTOR and WAYS) and topic. ALONE is after the broker's stop: no broker is named."""
    counts: dict[tuple[str, int], int]
    """Rows by topic and partition, counted from headers."""
    formats: dict[str, set[tuple[int, str]]]
    """Magics and codecs in the segment files of each topic."""


def options_of(query: str, ends: Ends) -> dict[str, str]:
    if query == BOUNDS:
        starts, stops = (
            {
                topic: {str(number): low + (high - low) * part // 7 for number, (low, high) in found.items()}
                for topic, found in ends.items()
            }
            for part in (1, 6)
        )
        given = {"startingOffsets": json.dumps(starts), "endingOffsets": json.dumps(stops)}
        return {**given, "kafka.isolation.level": "read_committed"}
    if query == TIMES:
        given = {"startingTimestamp": str(START_TIME_MS + 10_500), "endingTimestamp": str(START_TIME_MS + 444_400)}
        return {**given, "startingOffsetsByTimestampStrategy": "latest"}
    return {"kafka.isolation.level": query}


def load(spark: SparkSession, source: str, **options: str) -> DataFrame:
    given = {"subscribe": ",".join(TOPICS), "includeHeaders": "true", **options}
    return spark.read.format(source).options(**given).load()


def by_topic(frame: DataFrame) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {topic: [] for topic in TOPICS}
    for one in records(frame):
        found[one.topic].append(one)
    return found


def formats_of(log_dir: Path, topic: str) -> set[tuple[int, str]]:
    found = set()
    for path in log_dir.glob(f"{topic}-*/*.log"):
        data, at = path.read_bytes(), 0
        while at < len(data):
            magic = data[at + 16]
            found.add((magic, CODECS[data[at + (22 if magic == 2 else 17)] & 7]))
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return found


def find(spark: SparkSession, broker: BrokerProcess) -> Found:
    path = str(broker.log_dir)
    ends = {topic: end_offsets(broker.bootstrap, topic) for topic in TOPICS}
    rows = {}
    for query in QUERIES:
        given = {"kafka.bootstrap.servers": broker.bootstrap, **options_of(query, ends)}
        pieces = {"minPartitions": "40"} if query == BOUNDS else {}
        frames = {
            CONNECTOR: load(spark, "kafka", **given, **PROMPT),
            FILES: load(spark, "kafkastore", path=path, **given, **pieces),
            NETWORK: load(spark, "kafkastore", **given, **pieces),
        }
        assert "network" not in ways(frames[FILES])
        for way, frame in frames.items():
            assert frame.schema == frames[CONNECTOR].schema
            rows[query, way] = by_topic(frame)
    whole = load(spark, "kafkastore", path=path, **{"kafka.bootstrap.servers": broker.bootstrap})
    counts = {(one[0], one[1]): one[2] for one in whole.groupBy("topic", "partition").count().collect()}
    broker.stop()
    for level in LEVELS:
        rows[level, ALONE] = by_topic(load(spark, "kafkastore", path=path, **{"kafka.isolation.level": level}))
    return Found(ends, rows, counts, {topic: formats_of(broker.log_dir, topic) for topic in TOPICS})


@pytest.fixture(scope="module", params=played(["kafkastore"], ["kafkastore", "kafka"]))
def found(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Found]:
    folder = tmp_path_factory.mktemp(request.param)
    factory = BrokerFactory(request.param, folder)
    try:
        broker = factory(QUICK)
        opened = write(broker, folder / "old")
        yield find(spark, broker)
        del opened  # its transaction was open until now
    finally:
        factory.close()


# ---- the comparisons
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize(("query", "way"), COMPARED)
def test_rows_equal_the_connectors(found: Found, query: str, way: str, topic: str) -> None:
    assert found.rows[query, way][topic] == found.rows[query, CONNECTOR][topic]


def test_counts_from_headers_are_those_of_the_connectors_rows(found: Found) -> None:
    rows = found.rows["read_uncommitted", CONNECTOR]
    assert found.counts == Counter((one.topic, one.partition) for topic in TOPICS for one in rows[topic])


def test_the_topics_have_every_format(found: Found) -> None:
    old = {(magic, codec) for magic in (0, 1) for codec in OLD_CODECS}
    assert found.formats["mixed"] == found.formats[BUILT] == old | {(2, "zstd")}
    assert found.formats["append_time"] == {(1, codec) for codec in OLD_CODECS} | {(2, "zstd")}
    assert found.formats["compacted"] == {(1, codec) for codec in OLD_CODECS}
    for topic in ("codecs", "append-time", "cleaned", "transactions"):
        assert found.formats[topic] == {(2, codec) for codec in CODECS}, topic
    rows = found.rows["read_uncommitted", FILES]
    types = {topic: {one.timestamp_type for one in rows[topic]} for topic in TOPICS}
    assert (types[BUILT], types["append_time"], types["append-time"]) == ({-1, 0}, {0, 1}, {1})


def test_the_topics_have_every_kind_of_hole(found: Found) -> None:
    every, committed = (found.rows[level, FILES] for level in LEVELS)
    for topic in ("transactions", "cleaned"):
        assert 0 < len(committed[topic]) < len(every[topic])
    for topic in ("compacted", "cleaned", BUILT):
        assert len(every[topic]) < 0.9 * found.ends[topic][0][1]
    assert [low for _, (low, _) in sorted(found.ends["deleted"].items())] == [67, 150, 150, 0]
    assert found.ends["expired"] == {0: (200, 350)}
    assert min(len(found.rows[BOUNDS, FILES][topic]) for topic in TOPICS if topic != "empty") > 20
    assert sum(len(rows) > 0 for rows in found.rows[TIMES, FILES].values()) >= 5
