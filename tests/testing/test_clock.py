"""What time decides happens at once when a test turns the clock of its broker."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaException, TopicPartition

from kafkastore.testing import Broker, Cluster
from testing.clients import consumer, polled, produce, producer


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as one:
        yield one


def offsets(broker: Broker, topic: str = "t") -> tuple[int, int]:
    found = broker.server.engine.partition_offsets(topic, 0)
    return found.log_start_offset, found.log_end_offset


def committed(broker: Broker, group: str) -> int:
    client = consumer(broker, group)
    try:
        return client.committed([TopicPartition("t", 0)], 10)[0].offset
    finally:
        client.close()


def test_retention_deletes_what_is_too_old_by_the_turned_clock(broker: Broker) -> None:
    broker.create_topic("hour", config={"retention.ms": 3_600_000})
    assert produce(broker, "hour", [b"a", b"b"]) == [None, None]
    broker.clock.advance(minutes=59)
    assert offsets(broker, "hour") == (0, 2)
    broker.clock.advance(minutes=2)
    assert offsets(broker, "hour") == (2, 2)
    broker.create_topic("made-later", config={"retention.ms": 7_200_000})
    assert produce(broker, "made-later", [b"c"]) == [None]
    broker.clock.advance(minutes=30)
    assert offsets(broker, "made-later") == (0, 1)
    broker.restart()  # the clock stays turned
    broker.clock.advance(minutes=30)
    assert offsets(broker, "made-later") == (1, 1)


def test_session_of_a_silent_member_ends(broker: Broker) -> None:
    assert produce(broker, "t", [b"a"]) == [None]
    first = consumer(broker, "g", session_timeout_ms=45_000, heartbeat_interval_ms=40_000)
    second = consumer(broker, "g", session_timeout_ms=45_000)
    try:
        first.subscribe(["t"])
        polled(first, 1)
        broker.clock.advance(seconds=44)
        groups = broker.server.services.groups.get().store.groups
        assert len(groups["g"].members) == 1
        broker.clock.advance(seconds=46)
        assert "g" not in groups  # without members and offsets it is of no use
        second.subscribe(["t"])
        assert polled(second, 1) == [b"a"]  # at once, not after the 45 seconds of the first one
    finally:
        first.close()
        second.close()


def test_transaction_times_out_and_its_producer_is_fenced(broker: Broker) -> None:
    client = producer(broker, transactional_id="x", transaction_timeout_ms=60_000)
    client.init_transactions(10)
    client.begin_transaction()
    client.produce("t", b"never")
    client.flush(10)
    broker.clock.advance(seconds=30)
    transactions = broker.server.engine.transactions()
    assert transactions.describe("x").state == "Ongoing"
    broker.clock.advance(seconds=31)
    assert transactions.describe("x").state in ("CompleteAbort", "Empty")
    with pytest.raises(KafkaException) as refused:
        client.commit_transaction(10)
    assert refused.value.args[0].fatal()
    reader = consumer(broker, "r", isolation_level="read_committed")
    try:
        reader.assign([TopicPartition("t", 0, 0)])
        assert produce(broker, "t", [b"later"]) == [None]
        assert polled(reader, 1) == [b"later"]
    finally:
        reader.close()


def test_committed_offsets_expire_before_the_broker_looks_by_itself() -> None:
    """Which it does every ten minutes."""
    with Broker(topics={"t": 1}, config={"offsets.retention.minutes": 5}) as broker:
        assert produce(broker, "t", [b"a"]) == [None]
        client = consumer(broker, "g")
        client.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
        client.close()
        broker.clock.advance(minutes=4)
        assert committed(broker, "g") == 1
        broker.clock.advance(minutes=2)
        assert committed(broker, "g") == -1001


def test_clock_of_a_cluster_is_one() -> None:
    with Cluster(2, topics={"t": 1}, config={"log.retention.ms": 60_000}) as cluster:
        assert produce(cluster, "t", [b"a"]) == [None]
        cluster.clock.advance(minutes=2)
        leader = cluster.wait_for_leader("t")
        assert leader.server.engine.partition_offsets("t", 0).log_start_offset == 1
        assert cluster.clock.now_ms() - time.time() * 1000 > 119_000


def test_clock_goes_forward_alone(broker: Broker) -> None:
    with pytest.raises(ValueError, match="goes forward"):
        broker.clock.advance(seconds=-1)
