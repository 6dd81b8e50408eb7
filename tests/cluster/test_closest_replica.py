"""Consumers with a rack fetch from the follower in that rack (KIP-392): three brokers in racks
a, b and c, the first of which leads.

The clients' own counts for each connection tell which broker the bytes came from: librdkafka's statistics, the Java
consumer's metrics.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from cluster.closest_replica import Brokers, answers
from cluster.cluster import Cluster, MemberBroker
from cluster.stores import ON_SQLITE
from crash.load import Load, assert_all_are_read_back
from peer.broker_process import wait_until
from peer.java_tools import JavaTools

TOPIC = "orders"
LIMIT_S = 60.0
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
SLOW_TO_GO = {"zookeeper.session.timeout.ms": "60000", "replica.lag.time.max.ms": "60000"}
NOBODY_PROVES = {"kafkastore.inter.broker.secret.required": "false"}
"""Any client on the brokers' listener may fetch as a follower, as with Apache Kafka's PLAINTEXT."""

EXPECTED = Path(__file__).with_name("apache-kafka-4.4.0-closest-replica.json")
RECORD_BYTES = 1_000
RECORDS = 5_000
LEADER, CLOSEST = 1, 2


def in_racks(folder: Path, store: str, overrides: dict[str, str]) -> Iterator[Cluster]:
    with Cluster(folder, store, overrides={**SELECTOR, **overrides}, racks="abc").running() as made:
        yield made


@pytest.fixture(params=ON_SQLITE)
def slow_to_go(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster in which a broker that hangs stays in sync for a minute."""
    yield from in_racks(tmp_path, request.param, {**SLOW_TO_GO, **NOBODY_PROVES})


@pytest.fixture(params=ON_SQLITE)
def racked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    for made in in_racks(tmp_path, request.param, {}):
        make(made)
        yield made


@pytest.fixture
def slow_to_fetch(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster in which a follower's fetch waits for twenty seconds, unless the leader has news for it."""
    for made in in_racks(
        tmp_path, "sqlite", {"replica.fetch.wait.max.ms": "20000", "replica.lag.time.max.ms": "60000"}
    ):
        make(made)
        yield made


def make(cluster: Cluster) -> None:
    topic = NewTopic(TOPIC, 1, replica_assignment=[[LEADER, CLOSEST, 3]])
    admin = cluster.admin()  # kept: its requests end with its last reference
    admin.create_topics([topic], operation_timeout=20)[TOPIC].result(30)
    cluster.wait_in_sync(TOPIC, 3)


class Reader:
    """A librdkafka consumer of a rack; reads from the topic's start and counts the bytes from each broker."""

    def __init__(self, cluster: Cluster, rack: str = "b") -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "readers",
            "client.rack": rack,
            "statistics.interval.ms": 100,
            "stats_cb": self._note,
            "enable.auto.commit": False,
            "log_level": 0,
        }
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(TOPIC, 0, 0)])
        self._stats: dict[str, Any] = {}
        self.values: dict[int, bytes] = {}

    def close(self) -> None:
        self._consumer.close()

    def _note(self, text: str) -> None:
        self._stats = json.loads(text)

    def poll(self) -> bool:
        """Whether a record came; asserts that each offset comes once and in order."""
        message = self._consumer.poll(0.1)
        if message is None or message.error() is not None:
            return False
        offset, value = message.offset(), message.value()
        assert offset == len(self.values)
        assert value is not None
        self.values[offset] = value
        return True

    def read(self, count: int) -> None:
        """Reads until the consumer has ``count`` records in all."""
        deadline = time.monotonic() + LIMIT_S
        while len(self.values) < count:
            self.poll()
            assert time.monotonic() < deadline, f"{len(self.values)} of {count} after {LIMIT_S:g} s"

    def bytes_from(self, node: int) -> int:
        return sum(one["rxbytes"] for one in self._stats.get("brokers", {}).values() if one["nodeid"] == node)

    def reads_from(self) -> int:
        topic = self._stats.get("topics", {}).get(TOPIC, {})
        return int(topic.get("partitions", {}).get("0", {}).get("broker", -1))

    def wait_until_it_reads_from(self, node: int) -> None:
        def does() -> bool:
            self.poll()
            return self.reads_from() == node

        wait_until(does, LIMIT_S, f"the consumer reads from broker {node}")


def fill(cluster: Cluster) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 5, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number).encode().ljust(RECORD_BYTES, b"."), partition=0)
    assert producer.flush(30) == 0


def test_answers_are_those_of_apache_kafka(slow_to_go: Cluster) -> None:
    members = [broker for broker in slow_to_go.brokers if isinstance(broker, MemberBroker)]
    with closing(Brokers([f"{broker.host}:{broker.broker_port}" for broker in members])) as brokers:
        found = answers(brokers, slow_to_go.broker(3).pid)
    assert found == json.loads(EXPECTED.read_text())


def test_librdkafka_reads_all_from_the_follower_in_its_rack(racked: Cluster) -> None:
    fill(racked)
    with closing(Reader(racked)) as reader:
        reader.read(RECORDS)
        reader.wait_until_it_reads_from(CLOSEST)
        assert reader.bytes_from(CLOSEST) > RECORDS * RECORD_BYTES
        assert reader.bytes_from(LEADER) + reader.bytes_from(3) < RECORDS * RECORD_BYTES / 10
    with closing(Reader(racked, rack="a")) as at_home:
        at_home.read(RECORDS)
        at_home.wait_until_it_reads_from(LEADER)
        assert at_home.bytes_from(CLOSEST) < RECORDS * RECORD_BYTES / 10


def test_consumer_goes_back_to_the_leader_when_the_follower_dies(racked: Cluster) -> None:
    load = Load(racked, TOPIC, "load", 1, enable_idempotence=True)  # type: ignore[arg-type]
    with closing(Reader(racked)) as reader:
        load.run_until_acknowledged(1_000)
        reader.read(1_000)
        reader.wait_until_it_reads_from(CLOSEST)
        racked.broker(CLOSEST).kill()
        load.run_until_acknowledged(1_000)
        load.finish()
        reader.read(len(load.acknowledged))
        reader.wait_until_it_reads_from(LEADER)
        racked.broker(CLOSEST).start()
        racked.wait_in_sync(TOPIC, 3)
    assert reader.values == {offset: value for (_, offset), value in load.acknowledged.items()}
    assert_all_are_read_back(racked, TOPIC, [load])  # type: ignore[arg-type]
    with closing(Reader(racked)) as again:
        again.read(len(load.acknowledged))
        again.wait_until_it_reads_from(CLOSEST)


def test_java_consumer_reads_from_the_follower_and_goes_on_at_the_leader(
    racked: Cluster, java: JavaTools, tmp_path: Path
) -> None:
    fill(racked)
    sign = tmp_path / "half"
    config = {"client.rack": "b", "metadata.max.age.ms": "2000", "max.poll.records": "500"}
    config["max.partition.fetch.bytes"] = "100000"  # dropped and fetched again when the epoch changes
    asked = {"topic": TOPIC, "count": 2 * RECORDS, "sign": str(sign), "sign_after": RECORDS, "config": config}
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(java.call, "readFromRack", racked.bootstrap, **asked)
        wait_until(lambda: sign.exists() or reading.done(), LIMIT_S, "the consumer has read half")
        racked.broker(CLOSEST).kill()
        fill(racked)
        found = reading.result(LIMIT_S)
    assert found["offsets"] == list(range(2 * RECORDS))
    half = RECORDS * RECORD_BYTES
    assert found["bytes"][f"node-{CLOSEST}"] > half
    assert half < found["bytes"][f"node-{LEADER}"] < 1.1 * half


def test_record_reaches_the_followers_consumer_without_waiting_for_the_next_fetch(slow_to_fetch: Cluster) -> None:
    """A consumer at a follower gets a record one fetch later than at the leader; the follower sends that fetch
    at once where a consumer reads."""
    producer = Producer({"bootstrap.servers": slow_to_fetch.bootstrap, "acks": "all", "linger.ms": 0, "log_level": 0})
    reader = Reader(slow_to_fetch)
    took, replicated = [], []
    with closing(reader):
        reader.wait_until_it_reads_from(CLOSEST)
        for number in range(10):
            start = time.monotonic()
            producer.produce(TOPIC, str(number).encode(), partition=0)
            assert producer.flush(30) == 0
            replicated.append(time.monotonic() - start)
            reader.read(number + 1)
            took.append(time.monotonic() - start)
        reader.wait_until_it_reads_from(CLOSEST)
    assert median(took) < max(0.5, 4 * median(replicated)), (took, replicated)
