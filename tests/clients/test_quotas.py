"""Quotas with real clients: what they may produce, fetch, ask, create and open is what operators have set.

Quotas are set by Kafka's own tool or by raw requests, since no Python client has AlterClientQuotas. Times are bounded
coarsely; ``benches/quotas`` measures how close clients come to their limits. Each test runs against Apache Kafka as
well (``--against kafka``).
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from clients.test_kafka_tools import run
from parity.raw_client import RawClient
from peer.broker_factory import BrokerFactory
from peer.broker_process import BrokerProcess, wait_until
from peer.java_tools import JavaTools
from peer.topics import create_topic

Entity = dict[str, str | None]

THROTTLING_QUOTA_EXCEEDED = 89
WINDOW_S = 2
LIMITED_S, FREE_S = 3, 2
"""How long a client produces with a limit, and at most without one."""

VALUE = b"v" * 5_000


@pytest.fixture
def limited(broker_factory: BrokerFactory) -> BrokerProcess:
    """A broker whose windows are two seconds long."""
    return broker_factory({"quota.window.num": str(WINDOW_S), "controller.quota.window.num": str(WINDOW_S)})


@pytest.fixture
def raw(limited: BrokerProcess) -> Iterator[RawClient]:
    client = RawClient("127.0.0.1", limited.port, client_id="admin")
    yield client
    client.close()


def alter(raw: RawClient, entity: Entity, **quotas: float | None) -> None:
    entry = {
        "entity": [{"entity_type": kind.replace("_", "-"), "entity_name": name} for kind, name in entity.items()],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in quotas.items()],
    }
    (answer,) = raw.ask("alter_client_quotas", 1, {"entries": [entry], "validate_only": False}).entries
    assert answer.error_code == 0, answer


class Throttled:
    """The throttle times that a client of librdkafka was told, in seconds."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, event: Any) -> None:
        self.times.append(event.throttle_time)


def produce_for(
    seconds: float, broker: BrokerProcess, topic: str, client_id: str, until_above: float = math.inf
) -> tuple[int, Throttled]:
    """Produces as fast as the broker lets the client, until so many bytes are acknowledged; returns their number."""
    throttled, acknowledged = Throttled(), 0

    def note(error: Any, message: Any) -> None:
        nonlocal acknowledged
        acknowledged += len(message.value()) if error is None else 0

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            "client.id": client_id,
            "batch.size": 20_000,
            "queue.buffering.max.messages": 50,
            "throttle_cb": throttled,
        }
    )
    over_at = time.monotonic() + seconds
    while time.monotonic() < over_at and acknowledged <= until_above:
        try:
            producer.produce(topic, VALUE, on_delivery=note)
        except BufferError:
            producer.poll(0.05)
        producer.poll(0)
    found = acknowledged
    producer.purge()
    producer.flush(5)
    return found, throttled


def test_producer_is_held_to_its_quota_and_freed_when_it_is_removed(limited: BrokerProcess, raw: RawClient) -> None:
    topic, limit = create_topic(limited.bootstrap, "t"), 100_000
    alter(raw, {"client_id": "app"}, producer_byte_rate=limit)
    acknowledged, throttled = produce_for(LIMITED_S, limited, topic, "app")
    assert acknowledged <= limit * (LIMITED_S + WINDOW_S + 1)
    assert throttled.times
    assert max(throttled.times) > 0
    much = 2 * limit * (FREE_S + WINDOW_S)
    free, throttled = produce_for(FREE_S, limited, topic, "other", until_above=much)
    assert free > much
    assert not throttled.times
    alter(raw, {"client_id": "app"}, producer_byte_rate=None)
    time.sleep(WINDOW_S)
    free, _ = produce_for(FREE_S, limited, topic, "app", until_above=much)
    assert free > much


def test_consumer_is_held_to_its_quota_and_gets_every_record(limited: BrokerProcess, raw: RawClient) -> None:
    topic, limit, count = create_topic(limited.bootstrap, "t"), 100_000, 140
    producer = Producer({"bootstrap.servers": limited.bootstrap, "batch.size": 20_000})
    for _ in range(count):
        producer.produce(topic, VALUE)
    assert producer.flush(30) == 0
    alter(raw, {"user": "ANONYMOUS", "client_id": None}, consumer_byte_rate=limit)
    throttled = Throttled()
    consumer = Consumer(
        {
            "bootstrap.servers": limited.bootstrap,
            "client.id": "app",
            "group.id": "g",
            "fetch.message.max.bytes": 20_000,
            "throttle_cb": throttled,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    began = time.monotonic()
    offsets: list[int | None] = []
    while len(offsets) < count:
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None
        offsets.append(message.offset())
    took_s = time.monotonic() - began
    consumer.close()
    assert offsets == list(range(count))
    assert took_s > count * len(VALUE) / limit - WINDOW_S - 1
    assert throttled.times


def test_clients_of_a_user_share_the_user_s_quota(limited: BrokerProcess, raw: RawClient) -> None:
    topic, limit = create_topic(limited.bootstrap, "t"), 100_000
    alter(raw, {"user": "ANONYMOUS"}, producer_byte_rate=limit)
    found: list[int] = []

    def produce(client_id: str) -> None:
        found.append(produce_for(LIMITED_S, limited, topic, client_id)[0])

    threads = [threading.Thread(target=produce, args=(f"app-{number}",)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) <= limit * (LIMITED_S + WINDOW_S + 1)


def test_answers_of_a_client_over_its_request_time_name_the_time_and_its_connection_waits_for_it(
    limited: BrokerProcess, raw: RawClient
) -> None:
    alter(raw, {"client_id": "busy"}, request_percentage=0.000_1)
    client = RawClient("127.0.0.1", limited.port, client_id="busy")
    given = {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
    answers = [client.ask("metadata", 12, given) for _ in range(2)]  # the time of a request may count after its answer
    throttle_s = answers[-1].throttle_time_ms / 1000
    assert 0 < throttle_s <= 1
    began = time.monotonic()
    of_groups = client.ask("list_groups", 4, {"states_filter": ()})
    assert time.monotonic() - began >= throttle_s - 0.1
    assert of_groups.throttle_time_ms > 0
    client.close()
    alter(raw, {"client_id": "busy"}, request_percentage=None)
    alter(raw, {"client_id": "admin"}, request_percentage=0.000_1)
    only = raw.ask("list_groups", 4, {"states_filter": ()})
    assert only.throttle_time_ms > 0, "the time of handlers counts, too"


def test_partitions_above_the_quota_are_refused_with_the_time_to_wait_and_older_clients_wait(
    limited: BrokerProcess, raw: RawClient
) -> None:
    alter(raw, {"user": None}, controller_mutation_rate=1.0)

    def create(version: int, name: str) -> Any:
        topic = {"name": name, "num_partitions": 3, "replication_factor": 1, "assignments": (), "configs": ()}
        return raw.ask("create_topics", version, {"topics": [topic], "timeout_ms": 10_000, "validate_only": False})

    assert create(7, "a").topics[0].error_code == 0
    refused = create(7, "b")
    assert refused.topics[0].error_code == THROTTLING_QUOTA_EXCEEDED
    throttle_s = refused.throttle_time_ms / 1000
    assert 0 < throttle_s <= 1
    began = time.monotonic()
    older = create(5, "c")
    assert time.monotonic() - began >= throttle_s - 0.1, "the connection waits"
    assert older.topics[0].error_code == 0
    assert older.throttle_time_ms > 1000


def test_topics_that_metadata_creates_take_tokens_of_the_client_that_asks(
    limited: BrokerProcess, raw: RawClient
) -> None:
    """KIP-599: while the bucket is below zero the topic stays unknown, and the client is not held back for it."""
    alter(raw, {"client_id": "app"}, controller_mutation_rate=0.1)
    clients = {name: RawClient("127.0.0.1", limited.port, client_id=name) for name in ("app", "other")}

    def exists(client_id: str, topic: str, *, may_create: bool = True) -> bool:
        given = {"allow_auto_topic_creation": may_create, "include_topic_authorized_operations": False}
        answer = clients[client_id].ask("metadata", 12, {"topics": [{"topic_id": None, "name": topic}], **given})
        assert answer.throttle_time_ms == 0
        return bool(answer.topics[0].error_code == 0)

    wait_until(lambda: exists("app", "first"), 20, "a full bucket lets a topic through")
    exists("app", "second")
    wait_until(lambda: exists("other", "third"), 20, "another client has no limit")
    assert not exists("app", "second")
    assert not exists("other", "second", may_create=False)
    for client in clients.values():
        client.close()


def is_served(port: int) -> bool:
    """Whether a new connection gets an answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(bytes.fromhex("0000000a00120000000000010000"))  # ApiVersions 0, no client id
            return len(connection.recv(4)) > 0
    except ConnectionError:
        return False


def test_connections_above_the_rate_of_their_address_are_closed(limited: BrokerProcess, raw: RawClient) -> None:
    alter(raw, {"ip": "127.0.0.1"}, connection_creation_rate=1.0)
    began, served = time.monotonic(), [is_served(limited.port) for _ in range(5)]
    assert True in served
    assert False in served
    assert time.monotonic() - began > 0.4, "a connection is closed after a while"
    alter(raw, {"ip": "127.0.0.1"}, connection_creation_rate=None)
    wait_until(lambda: is_served(limited.port), 20, "the quota is gone")


def test_quotas_survive_a_restart(limited: BrokerProcess, raw: RawClient) -> None:
    alter(raw, {"user": "a b/c", "client_id": None}, producer_byte_rate=5.0, request_percentage=50.5)
    limited.stop()
    limited.start()
    again = RawClient("127.0.0.1", limited.port)
    (entry,) = again.ask("describe_client_quotas", 1, {"components": (), "strict": False}).entries
    again.close()
    assert {one.entity_type: one.entity_name for one in entry.entity} == {"user": "a b/c", "client-id": None}
    assert {one.key: one.value for one in entry.values} == {"producer_byte_rate": 5.0, "request_percentage": 50.5}


@pytest.mark.parametrize(
    ("entity", "quotas", "shown"),
    [
        (("--entity-type", "users", "--entity-name", "alice"), "producer_byte_rate=1024,consumer_byte_rate=2048",
         ["producer_byte_rate=1024.0", "consumer_byte_rate=2048.0", "user-principal 'alice'"]),
        (("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name", "app"),
         "request_percentage=150", ["request_percentage=150.0", "default user-principal", "client-id 'app'"]),
        (("--entity-type", "clients", "--entity-default"), "controller_mutation_rate=2.5",
         ["controller_mutation_rate=2.5", "default client-id"]),
        (("--entity-type", "ips", "--entity-name", "10.0.0.1"), "connection_creation_rate=5",
         ["connection_creation_rate=5.0", "ip '10.0.0.1'"]),
    ],
)  # fmt: skip
def test_kafka_configs_sets_describes_and_removes_quotas(
    java: JavaTools, broker: BrokerProcess, entity: tuple[str, ...], quotas: str, shown: list[str]
) -> None:
    run(java, broker, "kafka-configs", *entity, "--alter", "--add-config", quotas)
    described = run(java, broker, "kafka-configs", *entity, "--describe")
    for text in shown:
        assert text in described
    names = ",".join(one.partition("=")[0] for one in quotas.split(","))
    run(java, broker, "kafka-configs", *entity, "--alter", "--delete-config", names)
    assert names.partition(",")[0] not in run(java, broker, "kafka-configs", *entity, "--describe")
