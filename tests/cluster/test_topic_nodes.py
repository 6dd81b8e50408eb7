"""Topics that the tools of Apache Kafka 2.0 write into the store, and topics whose node has lost the topic id."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import KafkaError, Producer
from kazoo.client import KazooClient

from cluster.cluster import Cluster
from cluster.test_invalid_nodes import write
from peer import zookeeper_tools
from peer.broker_process import wait_until
from peer.topics import read_topic

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPIC = "orders"
LIMIT_S = 30.0


@pytest.fixture
def on_zookeeper(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, "zookeeper")
    try:
        yield made.start()
    finally:
        made.close()


def tool(cluster: Cluster, *args: str) -> str:
    assert cluster.zookeeper is not None
    return zookeeper_tools.run("kafka-topics", f"{cluster.zookeeper.address}/kafkastore", *args)


def node_of(cluster: Cluster, topic: str) -> dict[str, object]:
    assert cluster.zookeeper is not None
    client = KazooClient(f"{cluster.zookeeper.address}/kafkastore")
    client.start()
    content: dict[str, object] = json.loads(client.get(f"/brokers/topics/{topic}")[0])
    client.stop()
    client.close()
    return content


def ids_on_disk(cluster: Cluster, topic: str) -> set[str]:
    """The topic ids in partition.metadata of all replicas."""
    paths = [path for one in cluster.brokers for path in one.log_dir.glob(f"{topic}-*/partition.metadata")]
    return {line for path in paths for line in path.read_text().splitlines() if line.startswith("topic_id")}


def produce(cluster: Cluster, topic: str, partitions: int, round_: int) -> None:
    """Produces a record to each partition, acknowledged by all in-sync replicas."""
    settings = {"acks": "all", "message.timeout.ms": 30_000, "topic.metadata.refresh.interval.ms": 1000, "log_level": 0}
    producer = Producer({"bootstrap.servers": cluster.bootstrap, **settings})
    failed: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failed.append(error)

    for number in range(partitions):
        producer.produce(
            topic,
            b"%d of %d" % (number, round_),
            partition=number,
            on_delivery=delivered,
        )
    assert producer.flush(LIMIT_S) == 0
    assert not failed


def led(cluster: Cluster, topic: str) -> int:
    """How many partitions have a leader."""
    found = cluster.admin().list_topics(topic, timeout=10).topics[topic].partitions
    return sum(one.leader > 0 for one in found.values())


def no_log_was_set_aside(cluster: Cluster) -> bool:
    return not any(path for broker in cluster.brokers for path in broker.log_dir.glob("*-stray"))


def test_topic_that_kafka_2_grows_is_led_at_once_and_outlives_controllers(on_zookeeper: Cluster) -> None:
    cluster = on_zookeeper
    cluster.create(TOPIC, 2)
    produce(cluster, TOPIC, 2, 1)
    wait_until(lambda: len(ids_on_disk(cluster, TOPIC)) == 1, LIMIT_S, "the logs carry the id")
    before = node_of(cluster, TOPIC)["topic_id"]
    assert "Adding partitions succeeded!" in tool(cluster, "--alter", "--topic", TOPIC, "--partitions", "5")
    wait_until(lambda: led(cluster, TOPIC) == 5, LIMIT_S, "the new partitions have leaders")
    produce(cluster, TOPIC, 5, 2)
    node = node_of(cluster, TOPIC)
    assert (node["version"], node["topic_id"]) == (3, before)
    controller = cluster.controller()
    assert cluster.broker(controller).stop() == 0
    wait_until(lambda: led(cluster, TOPIC) == 5, LIMIT_S, "another controller leads them all")
    produce(cluster, TOPIC, 5, 3)
    cluster.broker(controller).start()
    cluster.wait_in_sync(TOPIC, 3)
    assert len(read_topic(cluster.bootstrap, TOPIC)) == 12
    assert len(ids_on_disk(cluster, TOPIC)) == 1
    assert no_log_was_set_aside(cluster)


def test_topic_that_kafka_2_makes_is_served_at_once_and_after_a_restart(on_zookeeper: Cluster) -> None:
    cluster = on_zookeeper
    said = tool(cluster, "--create", "--topic", TOPIC, "--partitions", "2", "--replication-factor", "3")
    assert f'Created topic "{TOPIC}".' in said
    wait_until(lambda: led(cluster, TOPIC) == 2, LIMIT_S, "it has leaders")
    produce(cluster, TOPIC, 2, 1)
    given = node_of(cluster, TOPIC)["topic_id"]
    assert all(code == 0 for code in cluster.stop())
    cluster.start_brokers()
    cluster.wait_in_sync(TOPIC, 3)
    assert node_of(cluster, TOPIC)["topic_id"] == given
    assert ids_on_disk(cluster, TOPIC) == {f"topic_id: {given}"}
    assert len(read_topic(cluster.bootstrap, TOPIC)) == 2


def test_topic_whose_node_has_lost_its_id_takes_that_of_its_logs(cluster: Cluster) -> None:
    cluster.create_on(TOPIC, [(1, 2), (2, 3), (3, 1)], {"min.insync.replicas": "1"})
    produce(cluster, TOPIC, 3, 1)
    before = ids_on_disk(cluster, TOPIC)
    assert len(before) == 1
    assert all(code == 0 for code in cluster.stop())
    first = {"version": 1, "partitions": {"0": [1, 2], "1": [2, 3], "2": [3, 1]}}
    write(cluster, {f"/brokers/topics/{TOPIC}": json.dumps(first).encode()})
    for broker in cluster.brokers:  # one after the other: the first broker does not have all partitions
        broker.start()
    cluster.wait_in_sync(TOPIC, 2)
    produce(cluster, TOPIC, 3, 2)
    assert ids_on_disk(cluster, TOPIC) == before
    assert no_log_was_set_aside(cluster)
    assert len(read_topic(cluster.bootstrap, TOPIC)) == 6


def test_topic_whose_node_is_invalid_is_served_by_the_next_controller_too(cluster: Cluster) -> None:
    cluster.create(TOPIC, 2)
    produce(cluster, TOPIC, 2, 1)
    before = write(cluster, {f"/brokers/topics/{TOPIC}": b'{"version":9'})
    controller = cluster.controller()
    assert cluster.broker(controller).stop() == 0
    wait_until(lambda: led(cluster, TOPIC) == 2, LIMIT_S, "another controller leads it as it was")
    produce(cluster, TOPIC, 2, 2)
    cluster.broker(controller).start()
    cluster.wait_in_sync(TOPIC, 3)
    printed = "".join(broker.output() for broker in cluster.brokers)
    assert f"Topic {TOPIC} goes on as it was; /brokers/topics/{TOPIC} is not written" in printed
    write(cluster, before)
    produce(cluster, TOPIC, 2, 3)
    assert len(read_topic(cluster.bootstrap, TOPIC)) == 6
