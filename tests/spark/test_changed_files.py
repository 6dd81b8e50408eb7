"""What happens to files between the planning of a query and its reading: a cleaner puts others in their place, records
are deleted up to the middle of a batch. The rows that are still there are read, each once.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from interop.transplant import read_checkpoint
from peer.broker_process import wait_until
from peer.topics import admin_client, create_topic
from proof.scope import played
from spark.conftest import QUICK_CLEANER, SMALL_SEGMENTS
from spark.rows import places, planned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from peer.broker_factory import BrokerFactory
    from peer.broker_process import BrokerProcess

pytestmark = pytest.mark.timeout(300)  # the first test of a run starts a JVM and a broker

LIMIT_S = 30
NOT_YET = {"cleanup.policy": "compact", "min.compaction.lag.ms": "3600000", "segment.ms": "60000"}
RECORDS, DOUBLE, START = 1000, 50, 600
"""The keys of the first DOUBLE records come again right behind them; each other record has a key of its own."""
DELETED = 42


def begin_to_clean(broker: BrokerProcess, topic: str) -> None:
    """The first segment is cleaned when this returns."""
    admin = admin_client(broker.bootstrap)
    entry = ConfigEntry("min.compaction.lag.ms", "0", incremental_operation=AlterConfigOpType.SET)
    changed = admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])])
    for done in changed.values():
        done.result(LIMIT_S)
    path = broker.log_dir / "cleaner-offset-checkpoint"
    wait_until(lambda: read_checkpoint(path).get(f"{topic} 0") == str(RECORDS), LIMIT_S, "the segment is cleaned")


KINDS, SIZES = ("kafkastore", "kafka"), ("equal", "mixed")
"""Whose cleaner, and whether batches begin where they were planned."""


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_a_cleaning_after_planning_keeps_are_read(
    spark: SparkSession, broker_factory: BrokerFactory, kind: str, sizes: str
) -> None:
    """With records of equal sizes a batch begins at each planned position in the new file, too."""
    broker = broker_factory(QUICK_CLEANER, kind=kind)
    create_topic(broker.bootstrap, "compacted", 1, NOT_YET)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 1})
    now_ms = int(time.time() * 1000)
    for number in range(RECORDS):
        key = b"%05d" % (number + DOUBLE if number < DOUBLE else number)
        size = 20 if sizes == "equal" else number * 37 % 53
        producer.produce("compacted", b"." * size, key, timestamp=now_ms)
    producer.produce("compacted", b"rolls the segment", b"last", timestamp=now_ms + 100_000)
    assert producer.flush(LIMIT_S) == 0
    bounds = {
        "startingOffsets": json.dumps({"compacted": {"0": START}}),
        "endingOffsets": json.dumps({"compacted": {"0": RECORDS}}),
    }
    options = {"path": str(broker.log_dir), "subscribe": "compacted", "kafka.bootstrap.servers": broker.bootstrap}
    frame = planned(spark.read.format("kafkastore").options(**options, **bounds).load())
    begin_to_clean(broker, "compacted")
    assert places(frame) == [(0, offset) for offset in range(START, RECORDS)]


@pytest.mark.parametrize("kind", played(KINDS[:1], KINDS))
def test_rows_behind_records_deleted_within_a_batch_are_read_over_the_network(
    spark: SparkSession, broker_factory: BrokerFactory, kind: str
) -> None:
    broker = broker_factory(kind=kind)
    create_topic(broker.bootstrap, "cut", 1, SMALL_SEGMENTS)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 500})
    for number in range(2 * DELETED):
        producer.produce("cut", b"%d" % number)
    assert producer.flush(LIMIT_S) == 0  # one batch
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "cut", "failOnDataLoss": "false"}
    frame = planned(spark.read.format("kafkastore").options(**options).load())
    admin = admin_client(broker.bootstrap)
    for done in admin.delete_records([TopicPartition("cut", 0, DELETED)]).values():
        done.result(LIMIT_S)
    assert places(frame) == [(0, offset) for offset in range(DELETED, 2 * DELETED)]
