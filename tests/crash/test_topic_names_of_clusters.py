"""Whatever name has a node in the store of a running cluster, on SQLite and on ZooKeeper: every broker goes on serving,
the next controller too, and each starts again."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from cluster.cluster import Cluster
from cluster.stores import BOTH
from parity.raw_client import RawClient
from peer.broker_process import wait_until
from peer.topic_names import ALIVE, NAMES, ODD, TAKEN, assert_serves, known_names, take_places
from peer.written_nodes import RETENTION_MS, nodes_of, write_to_sqlite, write_to_zookeeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from peer.broker_process import BrokerProcess

LIMIT_S = 15.0
INTERNAL = "__consumer_offsets"
"""It exists before."""

WRITTEN = [name for name in ODD if name != INTERNAL]
NOT_OF_ZOOKEEPER = {".", "..", "../../up", "a\n", "a\x00b"}
TOPIC_RESOURCE, SET = 2, 0


@pytest.fixture(params=BOTH)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    """Two running brokers: each of them becomes the controller."""
    made = Cluster(tmp_path, request.param, size=2)
    try:
        yield made.start()
    finally:
        made.close()


def write_nodes(cluster: Cluster) -> None:
    nodes = nodes_of(NAMES, (1, 2))
    if cluster.zookeeper is not None:
        refused = write_to_zookeeper(f"{cluster.zookeeper.address}/kafkastore", nodes)
        assert refused == {INTERNAL, *NOT_OF_ZOOKEEPER}
    else:
        assert write_to_sqlite(str(cluster.metadata_path), nodes) == {INTERNAL}


def knows_written(broker: BrokerProcess) -> bool:
    return known_names(broker) >= {*TAKEN, *ODD}


def are_in_sync(cluster: Cluster) -> bool:
    topics = cluster.admin().list_topics(timeout=10).topics
    return all(len(topics[name].partitions[0].isrs) == 2 for name in (ALIVE, *WRITTEN))


def has_retention(broker: BrokerProcess, names: Sequence[str], retention_ms: str) -> bool:
    resources = [
        {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": ["retention.ms"]}
        for name in names
    ]
    with closing(RawClient(broker.host, broker.port)) as client:
        found = client.ask("describe_configs", 4, {"resources": resources}).results
    return {config.value for one in found for config in one.configs} == {retention_ms}


def set_retention(broker: BrokerProcess, name: str, retention_ms: str) -> None:
    config = {"name": "retention.ms", "config_operation": SET, "value": retention_ms}
    resource = {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": [config]}
    with closing(RawClient(broker.host, broker.port)) as client:
        (done,) = client.ask(
            "incremental_alter_configs", 1, {"resources": [resource], "validate_only": False}
        ).responses
    assert int(done.error_code) == 0


def assert_written_are_served(cluster: Cluster) -> None:
    """The topics that may have their names take a record on both brokers, and have the configuration of their nodes."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "message.timeout.ms": 20_000})
    failed: list[object] = []
    for name in WRITTEN:
        producer.produce(name, b"x", on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(20) == 0
    assert not failed
    for broker in cluster.brokers:
        wait_until(partial(has_retention, broker, WRITTEN, RETENTION_MS), LIMIT_S, "the configurations of the nodes")


def test_nodes_of_every_name_leave_the_others_served(pair: Cluster) -> None:
    pair.create(ALIVE, 1, 2)
    first, second = pair.brokers
    assert_serves(first, 0)
    for broker in pair.brokers:
        take_places(broker.log_dir)
    write_nodes(pair)
    for broker in pair.brokers:
        wait_until(partial(knows_written, broker), LIMIT_S, "topics of all names that topics may have")
    assert_serves(first, 1)
    assert_written_are_served(pair)
    controller = pair.controller()
    set_retention(pair.broker(controller), ALIVE, "1234567890")
    for broker in pair.brokers:
        wait_until(partial(has_retention, broker, [ALIVE], "1234567890"), LIMIT_S, "a configuration that was changed")
    for node in (controller, 3 - controller):
        assert pair.broker(node).stop() == 0
        pair.broker(node).start()
        wait_until(partial(are_in_sync, pair), LIMIT_S, "two in-sync replicas of each topic")
    assert_serves(first, 2)
    assert_serves(second, 3)
    assert_written_are_served(pair)
