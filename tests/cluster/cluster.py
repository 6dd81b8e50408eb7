"""Several of our brokers as one cluster on this host, with one metadata store: an SQLite file or a ZooKeeper."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from kafkastore.config.secret import new_secret, write_secret
from parity.raw_client import RawClient
from peer.broker_process import free_port, wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.zookeeper import ZookeeperProcess

SESSION_MS = 3_000
"""The timeout of the brokers' sessions: how long a broker that hangs stays the leader of its partitions."""

SETTLE_LIMIT_S = 30.0

SEGMENT_SUFFIXES = (".log",)


def rack_of(node: int, racks: Sequence[str]) -> dict[str, str]:
    return {"broker.rack": racks[node - 1]} if racks else {}


class MemberBroker(KafkastoreBroker):
    """A broker with a listener for brokers beside the clients', as ``kafkastore cluster create`` sets it up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.broker_port = free_port()

    def properties(self) -> dict[str, str]:
        own = {
            "listeners": f"PLAINTEXT://{self.host}:{self.port},REPLICATION://{self.host}:{self.broker_port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,REPLICATION:PLAINTEXT",
            "inter.broker.listener.name": "REPLICATION",
        }
        return {**super().properties(), **own}


def log_size(folders: Iterable[Path]) -> int:
    """Bytes in the segments of logs. One that is moved or deleted meanwhile counts as far as it was looked at."""
    size = 0
    for folder in folders:
        with suppress(FileNotFoundError):
            for path in folder.glob("*.log"):
                size += path.stat().st_size
    return size


def secret_at(path: Path) -> Path:
    """The file of the secret that the brokers share; makes it when it does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_secret(path, new_secret())
    return path


class Cluster:
    """``brokers[i]`` is node i + 1. The creator of a cluster closes it."""

    def __init__(
        self,
        folder: Path,
        store: str = "sqlite",
        size: int = 3,
        overrides: Mapping[str, str] | None = None,
        log_dirs: Mapping[int, Sequence[Path]] | None = None,
        racks: Sequence[str] = (),
    ) -> None:
        """``log_dirs`` has the log directories of some nodes, by number; the other nodes have one each. ``racks``:
        empty, or a rack for each node."""
        self.folder = folder
        self.zookeeper = self.new_zookeeper() if store == "zookeeper" else None
        common = {
            "default.replication.factor": str(min(3, size)),
            "min.insync.replicas": "2" if size > 1 else "1",
            "offsets.topic.replication.factor": str(min(3, size)),
            "transaction.state.log.replication.factor": str(min(3, size)),
            "transaction.state.log.min.isr": "2" if size > 1 else "1",
            "zookeeper.session.timeout.ms": str(SESSION_MS),
            "replica.lag.time.max.ms": "10000",
            "kafkastore.inter.broker.secret.file": str(secret_at(folder / "inter-broker.secret")),
            **(overrides or {}),
        }
        if self.zookeeper is not None:
            common["zookeeper.connect"] = f"{self.zookeeper.address}/kafkastore"
        else:
            common["kafkastore.metadata.path"] = str(self.metadata_path)
        self.brokers = [
            self.new_broker(
                node, {**common, **rack_of(node, racks), "node.id": str(node)}, (log_dirs or {}).get(node, ())
            )
            for node in range(1, size + 1)
        ]

    # ---- where things are; a subclass may override these
    @property
    def metadata_path(self) -> Path:
        """The path of the SQLite file."""
        return self.folder / "metadata.sqlite"

    def new_zookeeper(self) -> ZookeeperProcess:
        return ZookeeperProcess(self.folder / "zookeeper")

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        return MemberBroker(self.folder / f"broker-{node}", settings, log_dirs)

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self.brokers)

    def broker(self, node: int) -> KafkastoreBroker:
        return self.brokers[node - 1]

    # ---- life
    def start(self) -> Cluster:
        if self.zookeeper is not None:
            self.zookeeper.start()
        self.start_brokers()
        return self

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Started, and closed at the end of the block."""
        try:
            self.start()
            yield self
        finally:
            self.close()

    def start_brokers(self) -> None:
        """Starts the brokers that do not run, all at once."""
        idle = [broker for broker in self.brokers if not broker.is_running()]
        for broker in idle:
            broker.launch()
        for broker in idle:
            broker.wait_until_ready()
        self.wait_for_brokers(len(self.brokers))

    def stop(self) -> list[int]:
        """Stops all brokers at once; returns their exit codes."""
        with ThreadPoolExecutor(len(self.brokers)) as pool:
            return list(pool.map(KafkastoreBroker.stop, self.brokers))

    def close(self) -> None:
        for broker in self.brokers:
            if broker.is_running():
                os.kill(broker.pid, signal.SIGCONT)
            broker.kill()
        if self.zookeeper is not None:
            self.zookeeper.kill()

    # ---- looking
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def admin_at(self, broker: KafkastoreBroker) -> AdminClient:
        """A client that asks this broker first."""
        return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def controller(self, asked: KafkastoreBroker | None = None) -> int:
        """The controller's node id as ``asked``, or any running broker, knows it; -1 for none."""
        broker = asked or next(broker for broker in self.brokers if broker.is_running())
        client = RawClient(broker.host, broker.port)
        try:
            partition = {"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}
            answer = client.ask("describe_quorum", 2, {"topics": [partition]})
            return int(answer.topics[0].partitions[0].leader_id)
        finally:
            client.close()

    def partition(self, topic: str, number: int = 0) -> PartitionMetadata:
        return self.admin().list_topics(topic, timeout=10).topics[topic].partitions[number]

    def leader(self, topic: str, number: int = 0) -> int:
        """The node id of the leader; waits until the partition has a leader that runs."""
        found = -1

        def led() -> bool:
            nonlocal found
            found = self.partition(topic, number).leader
            return found > 0 and self.broker(found).is_running()

        wait_until(led, SETTLE_LIMIT_S, f"{topic}-{number} has a leader")
        return found

    def wait_for_brokers(self, count: int) -> None:
        def all_there() -> bool:
            return len(self.admin().list_topics(timeout=10).brokers) == count

        wait_until(all_there, SETTLE_LIMIT_S, f"{count} brokers are in the metadata")

    def wait_in_sync(self, topic: str, count: int) -> None:
        """Waits until every partition of the topic has ``count`` in-sync replicas."""

        found: dict[int, tuple[int, list[int]]] = {}

        def in_sync() -> bool:
            partitions = self.admin().list_topics(topic, timeout=10).topics[topic].partitions
            found.update({number: (one.leader, one.isrs) for number, one in partitions.items()})
            return all(len(in_sync) == count for _, in_sync in found.values())

        try:
            wait_until(in_sync, SETTLE_LIMIT_S, f"{topic} has {count} in-sync replicas")
        except AssertionError as error:
            raise AssertionError(f"{error}; leader and in-sync set of each partition are {found}") from None

    # ---- doing
    def create(
        self, topic: str, partitions: int = 1, replicas: int = 3, config: Mapping[str, str] | None = None
    ) -> None:
        self._create(NewTopic(topic, partitions, replicas, config=dict(config or {})))

    def create_on(
        self, topic: str, assignment: Sequence[Sequence[int]], config: Mapping[str, str] | None = None
    ) -> None:
        """Creates the topic with these replicas of each partition."""
        replicas = [list(one) for one in assignment]
        self._create(NewTopic(topic, len(replicas), replica_assignment=replicas, config=dict(config or {})))

    def _create(self, asked: NewTopic) -> None:
        admin = self.admin()  # kept: its requests end with its last reference
        admin.create_topics([asked], operation_timeout=20)[asked.topic].result(30)

    def log_bytes(self, topic: str, number: int = 0) -> list[bytes]:
        """The bytes of the segments of each node's replica, in the order of the nodes."""
        found = []
        for broker in self.brokers:
            folders = [log_dir / f"{topic}-{number}" for log_dir in broker.log_dirs]
            segments = sorted(path for at in folders for path in at.glob("*") if path.suffix in SEGMENT_SUFFIXES)
            found.append(b"".join(path.read_bytes() for path in segments))
        return found

    def has_equal_logs(self, topic: str, number: int = 0) -> bool:
        """Whether all replicas have the same bytes now."""
        return len(set(self.log_bytes(topic, number))) == 1
