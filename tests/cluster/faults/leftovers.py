"""Finds what a move of partitions may not leave behind: directories, throttles, nodes of the metadata store.

Each function returns sentences about what it found; the list must be empty. The functions change nothing.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from confluent_kafka.admin import ConfigResource, ResourceType
from kazoo.client import KazooClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cluster.faults.faulty_cluster import FaultyCluster

    Nodes = dict[str, tuple[bytes, bool]]

THROTTLES = ("leader.replication.throttled", "follower.replication.throttled")
NOTICES = ("/admin/delete_topics", "/isr_change_notification", "/log_dir_event_notification")
"""Nodes whose children exist until a broker or the controller has dealt with them."""

ASKED = ("/admin/reassign_partitions", "/admin/preferred_replica_election")


def directories(cluster: FaultyCluster, topic: str) -> list[str]:
    """The topic's directories on brokers without a replica by the metadata, directories whose name is not a replica's
    plain name, and replicas without a directory."""
    partitions = cluster.admin().list_topics(topic, timeout=10).topics[topic].partitions
    found = []
    for node, broker in enumerate(cluster.brokers, 1):
        plain = {f"{topic}-{number}" for number, one in partitions.items() if node in one.replicas}
        its = re.compile(rf"{re.escape(topic)}(-|\.)\d+(\..*)?|{re.escape(topic)}-\d+-.*")
        for log_dir in broker.log_dirs:
            names = {path.name for path in log_dir.iterdir() if its.fullmatch(path.name)}
            found += [f"{name} is left on broker {node}" for name in sorted(names - plain)]
            found += [f"{name} is not on broker {node}" for name in sorted(plain - names)]
    return found


def throttles(cluster: FaultyCluster, topic: str) -> list[str]:
    """The throttles that are left in the configuration of the topic or of a broker."""
    resources = [ConfigResource(ResourceType.TOPIC, topic)]
    resources += [ConfigResource(ResourceType.BROKER, str(node)) for node in range(1, len(cluster.brokers) + 1)]
    admin = cluster.admin()  # kept: its requests end with its last reference
    found = []
    for resource in resources:  # librdkafka describes one broker at a time
        for key, entry in admin.describe_configs([resource])[resource].result(10).items():
            if key.startswith(THROTTLES) and entry.value and not entry.is_default:
                found.append(f"{key}={entry.value} is left on {resource.restype.name.lower()} {resource.name}")
    return found


def nodes(cluster: FaultyCluster, topic: str) -> list[str]:
    """Nodes of the store that are left: requests, notifications, ephemeral nodes besides the running brokers' and the
    controller's, and a reassignment in the topic's node."""
    tree = _from_zookeeper(cluster) if cluster.zookeeper is not None else _from_sqlite(cluster)
    alive = {"/controller", *(f"/brokers/ids/{node}" for node in range(1, len(cluster.brokers) + 1))}
    found = [f"{path} is left" for path in ASKED if path in tree]
    found += [f"{path} is left" for path in tree if path.startswith(tuple(f"{notice}/" for notice in NOTICES))]
    ephemeral = {path for path, (_, is_ephemeral) in tree.items() if is_ephemeral}
    found += [f"the ephemeral {path} is left" for path in sorted(ephemeral - alive)]
    found += [f"{path} is not there" for path in sorted(alive - ephemeral)]
    content = json.loads(tree[f"/brokers/topics/{topic}"][0])
    for key in ("adding_replicas", "removing_replicas"):
        if content.get(key):
            found.append(f"the node of {topic} has {key} {content[key]}")
    return found


def _from_zookeeper(cluster: FaultyCluster) -> Nodes:
    assert cluster.zookeeper is not None
    client = KazooClient(f"{cluster.zookeeper.address}/kafkastore")
    client.start()
    try:
        return dict(_below(client, ""))
    finally:
        client.stop()
        client.close()


def _below(client: KazooClient, path: str) -> Iterator[tuple[str, tuple[bytes, bool]]]:
    for name in client.get_children(path or "/"):
        child = f"{path}/{name}"
        data, stat = client.get(child)
        yield child, (data, stat.ephemeralOwner != 0)
        yield from _below(client, child)


def _from_sqlite(cluster: FaultyCluster) -> Nodes:
    with closing(sqlite3.connect(f"file:{cluster.metadata_path}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT parent, name, data, owner FROM nodes WHERE name <> ''").fetchall()
    return {f"{parent.rstrip('/')}/{name}": (data, owner != 0) for parent, name, data, owner in rows}
