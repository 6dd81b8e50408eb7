"""Topics with everything a directory can hold, and what a Java consumer reads of them."""

from __future__ import annotations

import os
from dataclasses import dataclass

from clients.conftest import CODECS, START_TIME_MS, samples
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaRecord, JavaTools
from peer.topics import admin_client, create_topic, end_offsets

SMALL_SEGMENTS = {"segment.bytes": "1048576", "index.interval.bytes": "2048", "retention.ms": "-1"}
DELETED_BEFORE = 431
ISOLATION_LEVELS = ("read_uncommitted", "read_committed")


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int
    config: dict[str, str]
    only_kafka: bool = False  # needs what ours does not write yet: transactions, compaction


TOPICS = [
    Topic("codecs", 3, SMALL_SEGMENTS),
    Topic("segments", 1, SMALL_SEGMENTS),
    Topic("deleted-heads", 1, SMALL_SEGMENTS),
    Topic("append-time", 1, {**SMALL_SEGMENTS, "message.timestamp.type": "LogAppendTime"}),
    Topic("recompressed", 1, {**SMALL_SEGMENTS, "compression.type": "zstd"}),
    Topic("transactions", 3, SMALL_SEGMENTS, only_kafka=True),
    Topic(
        "compacted", 1,
        {**SMALL_SEGMENTS, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "200"},
        only_kafka=True,
    ),
]  # fmt: skip


def topics_of(kind: str) -> list[Topic]:
    return [topic for topic in TOPICS if kind == "kafka" or not topic.only_kafka]


def create(broker: BrokerProcess, topics: list[Topic], **without: str) -> None:
    for topic in topics:
        create_topic(broker.bootstrap, topic.name, topic.partitions, topic.config | without)


def _records(count: int, partitions: int = 1, value_bytes: int = 100) -> list[JavaRecord]:
    return [
        JavaRecord(i % partitions, sample.timestamp, sample.key, sample.value, sample.headers)
        for i, sample in enumerate(samples(count, value_bytes))
    ]


def _incompressible(count: int) -> list[JavaRecord]:
    return [JavaRecord(0, START_TIME_MS + 10 * i, b"%d" % i, os.urandom(4000)) for i in range(count)]


def fill(broker: BrokerProcess, java: JavaTools) -> None:
    """Writes into every topic that `topics_of(broker.kind)` names."""
    at = broker.bootstrap
    for codec in CODECS:
        java.produce(at, "codecs", _records(500, partitions=3), compression_type=codec, linger_ms="5")
    java.produce(at, "segments", _incompressible(900), enable_idempotence="true")
    java.produce(at, "deleted-heads", _incompressible(900), compression_type="lz4")
    java.call("deleteRecords", at, topic="deleted-heads", before=DELETED_BEFORE)  # within a segment
    java.produce(at, "append-time", _records(100), compression_type="snappy")
    java.produce(at, "recompressed", _records(200), compression_type="gzip")
    if broker.kind == "kafka":
        _fill_transactions(at, java)
        _fill_compacted(broker, java)


def _fill_transactions(at: str, java: JavaTools) -> None:
    for number, end in enumerate(["commit", "abort", "commit", "abort"]):
        java.produce(
            at,
            "transactions",
            _records(40, partitions=3),
            end,
            transactional_id=f"t{number}",
            compression_type=CODECS[number],
        )
        java.produce(at, "transactions", _records(10, partitions=3))  # without a transaction, between them
    java.produce(
        at, "transactions", _records(20, partitions=3), "open", transactional_id="open", transaction_timeout_ms="600000"
    )
    java.produce(at, "transactions", _records(10, partitions=3))  # beyond the last stable offset


def _fill_compacted(broker: BrokerProcess, java: JavaTools) -> None:
    """The same ten keys again and again, then waits for the cleaner: what stays has holes between its offsets."""
    last = 0

    def is_compacted() -> bool:
        nonlocal last
        last += 1
        keys = [
            b"only-%d" % last if i == 25 else b"key-%d" % (i % 10) for i in range(50)
        ]  # one of each round stays, so holes do
        records = [JavaRecord(0, None, key, b"%d of round %d" % (i, last)) for i, key in enumerate(keys)]
        java.produce(
            broker.bootstrap, "compacted", records
        )  # each round rolls a segment (segment.ms), so that there is one to clean
        return len(java.consume(broker.bootstrap, "compacted")) < end_offsets(broker.bootstrap, "compacted")[0][1]

    wait_until(is_compacted, 60, "the cleaner compacts")


def keep_as_it_is(broker: BrokerProcess) -> None:
    """No further compaction, so that what is read before and after is the same."""
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entry = ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SET)
    admin = admin_client(broker.bootstrap)
    for future in admin.incremental_alter_configs(
        [ConfigResource(ResourceType.TOPIC, "compacted", incremental_configs=[entry])]
    ).values():
        future.result(30)


def read_all(broker: BrokerProcess, java: JavaTools, topics: list[Topic]) -> dict[tuple[str, str], list[JavaRecord]]:
    """(topic, isolation level) -> records, as the Java consumer reads them."""
    return {
        (topic.name, isolation): java.consume(broker.bootstrap, topic.name, isolation)
        for topic in topics
        for isolation in ISOLATION_LEVELS
    }
