"""Producer snapshots with five batches of a producer are Kafka's to read: its own tool takes them, oldest first."""

from __future__ import annotations

import re

from confluent_kafka import Producer

from peer.broker_factory import BrokerFactory
from peer.java_tools import JavaTools
from peer.topics import create_topic

BATCHES = 7


def test_kafkas_tool_reads_the_five_batches_of_a_snapshot(broker_factory: BrokerFactory, java: JavaTools) -> None:
    broker = broker_factory(kind="kafkastore")
    create_topic(broker.bootstrap, "t")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "log_level": 0})
    for _ in range(BATCHES):
        producer.produce("t", b"a")
        producer.produce("t", b"b")
        assert producer.flush(30) == 0
    assert broker.stop() == 0
    [snapshot] = (broker.log_dir / "t-0").glob("*.snapshot")
    dumped = java.tool("kafka-dump-log", "--files", str(snapshot))
    assert dumped.exit == 0, dumped.err
    last_offsets = [int(found) for found in re.findall(r"lastOffset=?:? ?(\d+)", dumped.out)]
    assert len(last_offsets) == 5, dumped.out
    assert last_offsets == sorted(last_offsets)
    assert last_offsets[-1] == 2 * BATCHES - 1
