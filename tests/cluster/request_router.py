"""Requests to several brokers: each goes to the coordinator, or the leader, that the running brokers know.

A request is sent once, on a connection of its own. What the router knows of a coordinator or a leader it forgets when a
request to that broker fails.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from cluster.cluster import Cluster
from cluster.raw_producer import PASSING, Ask, Request, decode, error_of
from parity import messages
from parity.raw_client import ConnectionClosedError, RawClient
from peer.kafkastore_broker import KafkastoreBroker

GROUP, TRANSACTION = 0, 1
OF_GROUP = ("txn_offset_commit", "offset_fetch")
Key = tuple[str, str | int]
"""What a broker is looked up by: ("group", its id), ("id", a transactional id), (a topic, a partition's number)."""


class NoSuchBrokerError(OSError):
    """No running broker leads the partition or coordinates the id now."""


class Router:
    """``paused`` has the numbers of nodes that hang and are not to be asked where anything is."""

    def __init__(self, cluster: Cluster) -> None:
        self.paused: set[int] = set()
        self._cluster = cluster
        self._known: dict[Key, int] = {}

    def __call__(self, request: Request, /) -> Any:
        key = key_of(request)
        node = self._known.get(key) or self._find(key)
        self._known[key] = node
        try:
            answer = self.at(node)(request)
        except (OSError, ConnectionClosedError):
            self._known.pop(key, None)
            raise
        if error_of(answer) in PASSING:
            self._known.pop(key, None)
        return answer

    def at(self, node: int) -> Ask:
        """Sends to one broker whatever it is."""

        def ask(request: Request, /) -> Any:
            broker = self._cluster.broker(node)
            with closing(RawClient(broker.host, broker.port)) as client:
                return client.ask(*request)

        return ask

    def aim(self, request: Request) -> AimedRequest:
        """The request on a connection to the broker that it is for, yet to be sent."""
        key = key_of(request)
        broker = self._cluster.broker(self._known.get(key) or self._find(key))
        return AimedRequest(broker, request)

    def coordinators(self, transactional_ids: Sequence[str]) -> list[int]:
        """The node id of each id's coordinator; -1 for none."""
        return self._coordinators(TRANSACTION, transactional_ids)

    def leaders(self, topic: str) -> dict[int, int]:
        """The node id of each partition's leader; -1 for none."""
        asked = Request("metadata", 12, {"topics": [{"name": topic}], "allow_auto_topic_creation": False})
        (found,) = self.at(self._running())(asked).topics
        return {one.partition_index: one.leader_id for one in found.partitions}

    def _find(self, key: Key) -> int:
        kind, name = key
        if kind in {"group", "id"}:
            (node,) = self._coordinators(GROUP if kind == "group" else TRANSACTION, [str(name)])
        else:
            node = self.leaders(kind).get(int(name), -1)
        if node < 1:
            raise NoSuchBrokerError(f"nobody serves {key}")
        return node

    def _coordinators(self, key_type: int, names: Sequence[str]) -> list[int]:
        asked = Request("find_coordinator", 4, {"key_type": key_type, "coordinator_keys": list(names)})
        found = {str(one.key): one.node_id for one in self.at(self._running())(asked).coordinators}
        return [found[name] for name in names]

    def _running(self) -> int:
        """The node id of a broker that can be asked."""
        for node, broker in enumerate(self._cluster.brokers, 1):
            if broker.is_running() and node not in self.paused and accepts(broker):
                return node
        raise NoSuchBrokerError("no broker runs")


class AimedRequest:
    """An encoded request and its connection. It is sent in one system call, so that what follows comes at once."""

    def __init__(self, broker: KafkastoreBroker, request: Request) -> None:
        self._request = request
        self._frame = messages.frame(messages.request(*request), 1, "aimed")
        self._socket = socket.create_connection((broker.host, broker.port))

    def send(self) -> None:
        self._socket.sendall(self._frame)

    def answer(self, deadline: float) -> Any | None:
        """None when the broker closed the connection or did not answer until the deadline."""
        self._socket.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            with self._socket as connection, connection.makefile("rb") as stream:
                head = stream.read(4)
                payload = stream.read(struct.unpack(">i", head)[0]) if len(head) == 4 else b""
        except OSError:
            return None
        return decode(self._request.api, self._request.version, payload) if payload else None


def accepts(broker: KafkastoreBroker) -> bool:
    """Whether a broker that runs listens already."""
    try:
        RawClient(broker.host, broker.port).close()
    except OSError:
        return False
    return True


def key_of(request: Request) -> Key:
    given = request.given
    if request.api == "produce":
        (topic,) = given["topic_data"]
        return topic["name"], topic["partition_data"][0]["index"]
    if request.api in OF_GROUP:
        return "group", given["group_id"] if "group_id" in given else given["groups"][0]["group_id"]
    if request.api == "describe_transactions":
        return "id", given["transactional_ids"][0]
    if "transactions" in given:
        return "id", given["transactions"][0]["transactional_id"]
    return "id", given.get("transactional_id") or given["v3_and_below_transactional_id"]
