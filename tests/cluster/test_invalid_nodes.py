"""Nodes of a running cluster's store with invalid content, on SQLite and on ZooKeeper: every broker goes on running,
logs the nodes' paths, handles all other nodes, starts again despite the invalid nodes, and goes on when they are
mended."""

from __future__ import annotations

import asyncio

import pytest
from confluent_kafka import Producer
from kazoo.client import KazooClient

from cluster.cluster import Cluster
from cluster.stores import BOTH
from kafkastore.metadata.sqlite import SqliteStore
from peer.broker_process import wait_until
from peer.topics import read_topic

INVALID = b'{"leader":"nobody"'
TOPICS = ("good", "no-topic", "no-state", "no-config")
LIMIT_S = 30.0
INVALID_PATHS = (
    "/brokers/topics/no-topic",
    "/brokers/topics/no-state/partitions/0/state",
    "/config/topics/no-config",
    "/config/brokers/<default>",
    "/controller",
    "/controller_epoch",
    "/admin/reassign_partitions",
    "/admin/preferred_replica_election",
    "/brokers/topics/a b",
    "/log_dir_event_notification/log_dir_event_invalid",
)
HELD = INVALID_PATHS[:4]
"""The nodes that keep their invalid content until an operator mends them; the brokers rewrite /controller and its epoch
and delete the others."""


def write(cluster: Cluster, content: dict[str, bytes]) -> dict[str, bytes]:
    """Writes the nodes as any client of the store can; returns the previous content of the nodes that existed."""
    if cluster.zookeeper is not None:
        return _write_to_zookeeper(f"{cluster.zookeeper.address}/kafkastore", content)
    return asyncio.run(_write_to_file(str(cluster.metadata_path), content))


def _write_to_zookeeper(address: str, content: dict[str, bytes]) -> dict[str, bytes]:
    client, before = KazooClient(address), {}
    client.start()
    for path, data in content.items():
        if client.exists(path):
            before[path] = client.get(path)[0]
            client.set(path, data)
        else:
            client.create(path, data, makepath=True)
    client.stop()
    client.close()
    return before


async def _write_to_file(path_of_file: str, content: dict[str, bytes]) -> dict[str, bytes]:
    store, before = SqliteStore(path_of_file), {}
    await store.connect()
    for path, data in content.items():
        if await store.exists(path) is not None:
            before[path] = (await store.get(path)).data
            await store.set(path, data)
        else:  # in one step: the controller deletes an empty node of requests at once
            await store.ensure_path(path.rpartition("/")[0])
            await store.create(path, data)
    await store.close()
    return before


def produce(cluster: Cluster, topic: str, count: int = 20) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "message.timeout.ms": 30_000, "log_level": 0})
    for number in range(count):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(LIMIT_S) == 0


def count_of(cluster: Cluster, topic: str) -> int:
    return len(read_topic(cluster.bootstrap, topic))


@pytest.mark.parametrize("cluster", BOTH, indirect=True)
def test_invalid_node_of_the_store_is_named_and_everything_else_goes_on(cluster: Cluster) -> None:
    for topic in TOPICS:
        cluster.create(topic)
        produce(cluster, topic)
    before = write(cluster, dict.fromkeys(INVALID_PATHS, INVALID))

    def is_decided() -> bool:
        name = f"later-{len(cluster.admin().list_topics(timeout=10).topics)}"
        try:
            cluster.create(name)
        except Exception:  # noqa: BLE001 - a controller that was just replaced; the next one answers
            return False
        return True

    wait_until(is_decided, LIMIT_S, "a topic can be made")
    for node in (cluster.controller(), cluster.leader("good")):
        produce(cluster, "good")
        assert cluster.broker(node).stop() == 0
        cluster.broker(node).start()
        cluster.wait_in_sync("good", 3)
    assert count_of(cluster, "good") == 60
    printed = "".join(broker.output() for broker in cluster.brokers)
    for path in INVALID_PATHS:
        assert path in printed, path
    assert "Traceback" not in printed
    assert "-stray" not in printed

    write(cluster, {path: before.get(path, b"{}") for path in HELD})
    for topic in TOPICS:
        cluster.wait_in_sync(topic, 3)
        produce(cluster, topic)
        assert count_of(cluster, topic) == (80 if topic == "good" else 40)
