"""Nodes of topics as whoever may write to the metadata store could write them, with any name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import BadArgumentsError
from kazoo.exceptions import NodeExistsError as KazooNodeExistsError

from kafkastore.metadata.assignment import ReplicaAssignment, encode_assigned
from kafkastore.metadata.nodes import config_notice, encode_config
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import NodeExistsError, parent_of

RETENTION_MS = "123456789"
"""In the configuration of each topic."""


class WrittenNode(NamedTuple):
    """A node of the topic ``name``."""

    name: str
    path: str
    data: bytes
    is_sequential: bool = False


def nodes_of(names: Iterable[str], replicas: tuple[int, ...]) -> Iterator[WrittenNode]:
    """For each name a configuration and a topic of one partition, unless the name has an empty part, of which no store
    makes a node; and the notice that the configuration is new."""
    for number, name in enumerate(names, 1):
        if "" not in name.split("/"):
            yield WrittenNode(name, f"/config/topics/{name}", encode_config({"retention.ms": RETENTION_MS}))
            assigned = encode_assigned(number.to_bytes(16, "big"), [ReplicaAssignment(replicas)])
            yield WrittenNode(name, f"/brokers/topics/{name}", assigned)
        notice = config_notice("topics", name)
        yield WrittenNode(name, notice.path, notice.data, is_sequential=True)


def write_to_sqlite(file: str, nodes: Iterable[WrittenNode]) -> set[str]:
    """Returns the names whose nodes the store refuses, or has already."""

    async def write() -> set[str]:
        store = SqliteStore(file)
        await store.connect()
        refused = set()
        for one in nodes:
            await store.ensure_path(parent_of(one.path))
            try:
                await store.create(one.path, one.data, is_sequential=one.is_sequential)
            except NodeExistsError:
                refused.add(one.name)
        await store.close()
        return refused

    return asyncio.run(write())


def write_to_zookeeper(address: str, nodes: Iterable[WrittenNode]) -> set[str]:
    """As :func:`write_to_sqlite`. ZooKeeper takes no dots for a name, and no control characters."""
    client = KazooClient(address)
    client.start()
    refused = set()
    for one in nodes:
        try:
            client.create(one.path, one.data, sequence=one.is_sequential, makepath=True)
        except (BadArgumentsError, KazooNodeExistsError, ValueError):
            refused.add(one.name)
    client.stop()
    client.close()
    return refused
