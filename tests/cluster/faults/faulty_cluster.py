"""Three or four brokers for faults, each with a disk and a network of its own."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from cluster.cluster import Cluster
from cluster.faults.disk import Disk
from cluster.faults.network import Network
from kafkastore.config.secret import FILE_KEY
from peer.broker_process import BrokerFailedError, free_port, hang
from peer.certificates import Authority
from peer.java_tools import JavaTools
from peer.kafkastore_broker import KafkastoreBroker
from peer.zookeeper import ZookeeperProcess

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

STORE = "store"
"""The host of ZooKeeper, and the disk of the SQLite file."""

CREATE_LIMIT_S = 2.0
SESSION_ENDED = "the session with the metadata store ended during the start"


def host(node: int) -> str:
    return f"broker-{node}"


def _secure(authority: Authority, broker: KafkastoreBroker) -> dict[str, str]:
    """What lets a broker reach others by SASL_SSL, and be reached by it."""
    password = "between-brokers"
    jaas = (
        f'org.apache.kafka.common.security.plain.PlainLoginModule required username="kafka" password="{password}" '
        f'user_kafka="{password}";'
    )
    return {
        "listeners": f"PLAINTEXT://{broker.host}:{broker.port},BROKERS://{broker.host}:{free_port()}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:SASL_SSL",
        "inter.broker.listener.name": "BROKERS",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.brokers.plain.sasl.jaas.config": jaas,
        "ssl.keystore.location": str(authority.server(broker.host, name=broker.host).both),
        "ssl.truststore.location": str(authority.ca),
    }


class FaultyCluster(Cluster):
    """See the module. Works only inside a private machine."""

    def __init__(
        self,
        folder: Path,
        store: str,
        size: int = 3,
        overrides: Mapping[str, str] | None = None,
        *,
        is_secure: bool = False,
    ) -> None:
        """``is_secure``: brokers reach each other by SASL_SSL, on a listener of their own."""
        self.network = Network()
        self._authority = Authority(folder / "certificates") if is_secure else None
        self.disks: dict[str, Disk] = {}
        self._java: JavaTools | None = None
        super().__init__(folder, store, size, overrides)

    # ---- where things are
    @property
    def metadata_path(self) -> Path:
        return self._disk(STORE).path / "metadata.sqlite"

    def new_zookeeper(self) -> ZookeeperProcess:
        made = ZookeeperProcess(self.folder / "zookeeper")
        made.host, made.prefix = self.network.add(STORE), self.network.prefix(STORE)
        return made

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        disk = self._disk(host(node))
        made = KafkastoreBroker(self.folder / host(node), settings, log_dirs or [disk.path / "data"])
        made.host, made.prefix = self.network.add(host(node)), self.network.prefix(host(node))
        if self._authority is not None:
            made.overrides = {**made.overrides, **_secure(self._authority, made)}
            del made.overrides[FILE_KEY]
        return made

    def _disk(self, name: str) -> Disk:
        if name not in self.disks:
            self.disks[name] = Disk(self.folder / f"{name}.image", self.folder / f"{name}.disk")
        return self.disks[name]

    def java(self) -> JavaTools:
        """A JVM for clients, which runs as long as the cluster."""
        if self._java is None:
            self._java = JavaTools(self.folder / "java.log")
        return self._java

    def prove(self) -> None:
        """Checks that the faults of network and disk have an effect, before any broker runs."""
        self.network.prove(host(1), host(2))
        self._disk(host(1)).prove()

    def discard(self) -> None:
        """Ends the cluster for good, and removes its network and its disks."""
        self.close()
        if self._java is not None:
            self._java.close()
        self.network.discard()
        for disk in self.disks.values():
            disk.discard()

    # ---- faults
    def pause(self, node: int) -> None:
        hang(self.broker(node).pid)

    def go_on(self, node: int) -> None:
        os.kill(self.broker(node).pid, signal.SIGCONT)

    def lose_power(self, nodes: Iterable[int], and_store: bool = False) -> None:
        """All these disks lose their power at almost one moment: the brokers are paused first, and the disks follow one
        by one."""
        nodes = list(nodes)
        for node in nodes:
            self.pause(node)
        disks = [self.disks[host(node)] for node in nodes] + ([self.disks[STORE]] if and_store else [])
        for disk in disks:
            disk.lose_power()
        for node in nodes:
            self.broker(node).kill()
        for disk in disks:
            disk.restore()

    def others(self, node: int) -> list[int]:
        return [one for one in range(1, len(self.brokers) + 1) if one != node]

    def can_create(self, topic: str, brokers: Iterable[KafkastoreBroker], limit_s: float) -> bool:
        """Whether a client that knows these brokers can create the topic within the limit; it tries until then."""
        bootstrap = ",".join(broker.bootstrap for broker in brokers)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
            try:
                admin.create_topics([NewTopic(topic, 1, 2)], request_timeout=CREATE_LIMIT_S)[topic].result(
                    CREATE_LIMIT_S + 1
                )
            except KafkaException as error:
                if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                    return True
            else:
                return True
        return False

    def mend(self) -> None:
        """Ends every fault, and starts the store and the brokers that do not run."""
        self.network.heal()
        for node, broker in enumerate(self.brokers, 1):
            if broker.is_running():
                self.go_on(node)
        if self.zookeeper is not None and self.zookeeper.process is None:
            self.zookeeper.start()
        try:
            self.start_brokers()
        except BrokerFailedError as error:
            if SESSION_ENDED not in str(error):
                raise
            self.start_brokers()  # as a supervisor does: on a busy machine a start may take longer than a session
