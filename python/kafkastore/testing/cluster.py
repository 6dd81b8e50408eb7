"""Several brokers inside a test: ``with Cluster(brokers=3) as cluster``, with one metadata store, one clock and a
directory in which each broker has its own.

They are what ``kafkastore cluster create`` writes for one host: an SQLite file for all, a listener for brokers with a
secret. They start at the same time, each in a thread of its own.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import ConfigError
from kafkastore.testing.clock import Clock
from kafkastore.testing.homes import Home
from kafkastore.testing.lifetime import Lifetime
from kafkastore.testing.node import Node, NotRunningError
from kafkastore.testing.security import Security
from kafkastore.testing.settings import LOOPBACK, Settings

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

MAX_BROKERS: Final = 9
LIMIT_S: Final = 30.0
PAUSE_S: Final = 0.002


class Cluster(Lifetime):
    """Brokers in the test's own process, with one metadata store: ``with Cluster(brokers=3) as cluster``. Its nodes,
    ``brokers``, have ids from 1 on. Also an asynchronous context manager."""

    def __init__(
        self,
        brokers: int = 3,
        *,
        config: Mapping[str, object] | None = None,
        topics: Mapping[str, int] | None = None,
        directory: str | os.PathLike[str] | None = None,
        host: str = LOOPBACK,
        security_protocol: str = "PLAINTEXT",
        sasl_mechanism: str = "PLAIN",
        users: Mapping[str, str] | None = None,
        client_certificates: bool = False,
    ) -> None:
        """As a ``Broker``. Topics have as many replicas as there are brokers, three at most. Raises ConfigError."""
        if not 1 <= brokers <= MAX_BROKERS:
            raise ConfigError(f"brokers={brokers} is not between 1 and {MAX_BROKERS}")
        security = Security(security_protocol, sasl_mechanism, users or {}, client_certificates)
        self.clock = Clock()
        self._home = Home(directory)
        self._topics = dict(topics or {})
        factor = min(3, brokers)
        of_cluster = {
            "kafkastore.metadata.path": str(self._home.path / "metadata.sqlite"),
            "default.replication.factor": str(factor),
            "min.insync.replicas": str(max(1, factor - 1)),
            "offsets.topic.replication.factor": str(factor),
            "transaction.state.log.replication.factor": str(factor),
            "transaction.state.log.min.isr": str(max(1, factor - 1)),
        }
        self.brokers = [
            Node(Settings(self._home.path, node_id, host, security, config or {}, of_cluster), self.clock)
            for node_id in range(1, brokers + 1)
        ]

    # ---- life
    def start(self) -> None:
        """Starts the brokers that do not run; returns when each knows all of them. Raises StartupError."""
        self.brokers[0].settings.prepare()
        self._with_each(Node.start)
        self._until(lambda: all(len(one.server.image.brokers) == len(self.brokers) for one in self.brokers), "all meet")
        topics, self._topics = self._topics, {}
        for name, partitions in topics.items():
            if name not in self.brokers[0].server.image.topics:
                self.create_topic(name, partitions)

    def stop(self) -> None:
        """Stops the brokers one after the other, as a rolling stop does: leaders move to those that are left."""
        for one in reversed(self.brokers):
            one.stop()
            self._until(lambda one=one: not self._knows(one), f"broker {one.node_id} has left")  # type: ignore[misc]

    def close(self) -> None:
        """The end: stops all and leaves the directory that the test named, or kills all and removes the temporary one,
        since leaders that move to brokers that stop, too, take seconds. May be called twice."""
        try:
            if self._home.is_temporary:
                self._with_each(Node.kill)
            else:
                self.stop()
        finally:
            self._home.close()

    # ---- where
    @property
    def bootstrap_servers(self) -> str:
        return ",".join(one.bootstrap_servers for one in self.brokers)

    def broker(self, node_id: int) -> Node:
        """Raises ConfigError."""
        found = next((one for one in self.brokers if one.node_id == node_id), None)
        if found is None:
            raise ConfigError(f"broker {node_id} is none of this cluster, which has 1 to {len(self.brokers)}")
        return found

    def client_properties(self, user: str | None = None) -> dict[str, str]:
        """As of a node, for all brokers."""
        return self.brokers[0].client_properties(user) | {"bootstrap.servers": self.bootstrap_servers}

    def librdkafka_properties(self, user: str | None = None) -> dict[str, str]:
        """As of a node, for all brokers."""
        return self.brokers[0].librdkafka_properties(user) | {"bootstrap.servers": self.bootstrap_servers}

    # ---- topics and leaders
    def ask(self, api: str, version: int, fields: Mapping[str, Any]) -> Any:
        """As of a node, of the controller."""
        return self._controller().ask(api, version, fields)

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
    ) -> None:
        """Returns when every running broker knows the topic. Raises the KafkastoreError that Kafka answers."""
        self._controller().create_topic(name, partitions, replication_factor, config)
        self._until(
            lambda: all(name in one.server.image.topics for one in self.brokers if one.is_running), f"{name} is known"
        )

    def delete_topic(self, name: str) -> None:
        """Raises the KafkastoreError that Kafka answers."""
        self._controller().delete_topic(name)

    def leader(self, topic: str, partition: int = 0) -> Node | None:
        """The running broker that leads the partition, as the brokers see it; None while there is none."""
        running = [one for one in self.brokers if one.is_running]
        seen = {_leader(one, topic, partition) for one in running}
        return next((one for one in running if seen == {one.node_id}), None)

    def wait_for_leader(self, topic: str, partition: int = 0) -> Node:
        """The leader, once every running broker sees the same running one."""
        self._until(lambda: self.leader(topic, partition) is not None, f"{topic}-{partition} has a leader")
        found = self.leader(topic, partition)
        assert found is not None
        return found

    def controller(self) -> Node | None:
        """The running broker that is the controller; None while there is none."""
        active = [one for one in self.brokers if one.is_running and one.server.services.controller.is_active]
        return active[0] if len(active) == 1 else None

    # ---- inside
    def _controller(self) -> Node:
        """Waits for one."""
        if not any(one.is_running for one in self.brokers):
            raise NotRunningError(self.brokers[0].node_id)
        self._until(lambda: self.controller() is not None, "there is a controller")
        found = self.controller()
        assert found is not None
        return found

    def _knows(self, left: Node) -> bool:
        """Whether a running broker has it in its metadata."""
        return any(left.node_id in one.server.image.brokers for one in self.brokers if one.is_running)

    def _with_each(self, act: Callable[[Node], None]) -> None:
        with ThreadPoolExecutor(len(self.brokers), thread_name_prefix="kafkastore-cluster") as threads:
            done = [threads.submit(act, one) for one in self.brokers]
        for one in done:
            one.result()

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"not within {LIMIT_S:.0f} s: {what}")
            time.sleep(PAUSE_S)


def _leader(node: Node, topic: str, partition: int) -> int | None:
    found = node.server.image.topics.get(topic)
    return None if found is None or partition >= len(found.partitions) else found.partitions[partition].leader
