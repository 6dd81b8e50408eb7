"""Faults that a test orders, as a real client sees them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError

from kafkastore.errors import ConfigError, ErrorCode
from kafkastore.messages import OutgoingRequest
from kafkastore.testing import Broker, Cluster
from testing.clients import consumer, polled, produce, producer, values_of


@pytest.fixture(scope="module")
def of_module() -> Iterator[Broker]:
    with Broker(topics={"t": 1}) as one:
        yield one


@pytest.fixture
def broker(of_module: Broker) -> Iterator[Broker]:
    yield of_module
    of_module.faults.clear()


def end_offset(broker: Broker) -> int:
    return broker.server.engine.partition_offsets("t", 0).log_end_offset


def test_error_is_answered_as_often_as_ordered_and_the_client_tries_again(broker: Broker) -> None:
    before = end_offset(broker)
    order = broker.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER", times=3)
    assert produce(broker, "t", [b"a"]) == [None]
    assert order.count == 3
    assert end_offset(broker) == before + 1  # the refused ones were not carried out


def test_client_that_may_not_try_again_gets_the_error(broker: Broker) -> None:
    with broker.faults.answer("Produce", error="MESSAGE_TOO_LARGE"):
        (error,) = produce(broker, "t", [b"a"])
        assert error is not None
        assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert produce(broker, "t", [b"a"]) == [None]


def test_connections_from_before_the_order_meet_the_fault_too() -> None:
    with Broker(topics={"t": 1}) as broker:
        client = producer(broker)
        assert produce(client, "t", [b"a"]) == [None]
        order = broker.faults.answer("Produce", error="NOT_ENOUGH_REPLICAS", times=1)
        assert produce(client, "t", [b"b"]) == [None]
        assert order.count == 1


def test_delay_holds_a_request_and_nothing_else(broker: Broker) -> None:
    client = producer(broker)
    assert produce(client, "t", [b"a"]) == [None]
    with broker.faults.delay("Produce", ms=150) as order:
        began = time.monotonic()
        assert produce(client, "t", [b"b"]) == [None]
        assert time.monotonic() - began >= 0.15
        assert order.count == 1
    began = time.monotonic()
    assert produce(client, "t", [b"c"]) == [None]
    assert time.monotonic() - began < 0.15


def test_lost_answer_is_a_duplicate_but_for_an_idempotent_producer(broker: Broker) -> None:
    before = end_offset(broker)
    broker.faults.lose("Produce", times=1)
    assert produce(producer(broker, enable_idempotence=False), "t", [b"twice"]) == [None]
    assert end_offset(broker) == before + 2
    broker.faults.lose("Produce", times=1)
    assert produce(producer(broker, enable_idempotence=True), "t", [b"once"]) == [None]
    assert end_offset(broker) == before + 3


def test_consumer_goes_on_after_errors_of_fetch_and_metadata(broker: Broker) -> None:
    assert produce(broker, "t", [b"a"]) == [None]
    fetches = broker.faults.answer("Fetch", error="NOT_LEADER_OR_FOLLOWER", times=2)
    metadata = broker.faults.answer("Metadata", error="LEADER_NOT_AVAILABLE", times=1)
    client = consumer(broker, "g")
    try:
        client.subscribe(["t"])
        polled(client, end_offset(broker))
    finally:
        client.close()
    assert (fetches.count, metadata.count) == (2, 1)


def test_sessions_of_fetch_end_at_the_proxy(broker: Broker) -> None:
    """A request in a session names only what changed, and so would an answer with an error."""
    assert produce(broker, "t", [b"a"]) == [None]

    def fetched(session_id: int, session_epoch: int) -> tuple[int, int, list[int]]:
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        fields = {
            "replica_id": -1,
            "max_wait_ms": 0,
            "min_bytes": 0,
            "max_bytes": 1000,
            "isolation_level": 0,
            "session_id": session_id,
            "session_epoch": session_epoch,
            "topics": [{"topic": "t", "partitions": [partition]}],
            "forgotten_topics_data": (),
        }
        request = OutgoingRequest("Fetch", 11, fields)
        with socket.create_connection(("127.0.0.1", broker.port)) as connection:
            frame = b"\0\x01\0\x0b\0\0\0\x07\0\x04test" + request.body()
            connection.sendall(len(frame).to_bytes(4) + frame)
            with connection.makefile("rb") as answers:
                body = answers.read(int.from_bytes(answers.read(4)))
        answer = request.response(body[4:])
        partitions = [one.error_code for topic in answer.responses for one in topic.partitions]
        return answer.error_code, answer.session_id, partitions

    order = broker.faults.answer("Fetch", error="NOT_LEADER_OR_FOLLOWER", times=1)
    assert fetched(5, 3) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0, [])  # the order waits for one that names all
    assert fetched(0, 0) == (0, 0, [ErrorCode.NOT_LEADER_OR_FOLLOWER])
    assert order.count == 1
    assert fetched(0, 0) == (0, 0, [0])  # the broker has made a session, which the client does not hear of


def test_dropped_connections_come_back(broker: Broker) -> None:
    client = producer(broker)
    assert produce(client, "t", [b"a"]) == [None]
    assert broker.faults.drop_connections() >= 1
    assert produce(client, "t", [b"b"]) == [None]


def test_orders_outlive_a_restart() -> None:
    with Broker(topics={"t": 1}) as broker:
        order = broker.faults.answer("Produce", error="NOT_ENOUGH_REPLICAS", times=2)
        broker.restart()
        assert produce(broker, "t", [b"a"]) == [None]
        assert order.count == 2


def test_failing_disk_ends_a_broker_that_is_alone() -> None:
    with Broker(topics={"t": 1}) as broker:
        assert produce(broker, "t", [b"a"]) == [None]
        broker.faults.disk(failing=True)
        client = producer(broker, message_timeout_ms=500)
        (error,) = produce(client, "t", [b"b"])
        assert error is not None
        deadline = time.monotonic() + 10
        while broker.is_running:
            assert time.monotonic() < deadline, "the broker runs on"
            time.sleep(0.005)
        broker.start()  # on a disk that works again
        assert produce(broker, "t", [b"c"]) == [None]
        assert values_of(broker, "t", 2) == [b"a", b"c"]


def test_full_disk_of_a_leader_makes_another_broker_the_leader() -> None:
    with Cluster(3, topics={"t": 1}) as cluster:
        assert produce(cluster, "t", [b"a"]) == [None]
        leader = cluster.wait_for_leader("t")
        leader.faults.disk(full=True)
        assert produce(cluster, "t", [b"b"]) == [None]
        assert cluster.wait_for_leader("t") is not leader
        assert values_of(cluster, "t", 2) == [b"a", b"b"]


def test_slow_disk_holds_produce(broker: Broker) -> None:
    with broker.faults.disk(slow=100) as order:  # type: ignore[union-attr]
        began = time.monotonic()
        assert produce(broker, "t", [b"a"]) == [None]
        assert time.monotonic() - began >= 0.1
        assert order.count == 1


def test_wrong_orders_are_refused_with_a_sentence(broker: Broker) -> None:
    with pytest.raises(ConfigError, match="Producer is no API"):
        broker.faults.answer("Producer", error="NOT_LEADER_OR_FOLLOWER")
    with pytest.raises(ConfigError, match="NO_LEADER is no error"):
        broker.faults.answer("Produce", error="NO_LEADER")
    with pytest.raises(ConfigError, match="times=0"):
        broker.faults.answer("Produce", error="NOT_LEADER_OR_FOLLOWER", times=0)
    with Broker() as fresh, pytest.raises(ConfigError, match="no log file is open"):
        fresh.faults.disk(full=True)
