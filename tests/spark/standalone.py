"""A Spark standalone cluster beside three brokers, on hosts of their own in a private machine.

    host    runs                                 sees the log directories of
    one     broker 1, a worker with one core     broker 1
    two     broker 2, a worker with one core     broker 2
    three   broker 3                             (nobody reads files there)
    driver  the master, the driver, consumers    all brokers

A host is a network namespace with an address. A worker has a mount namespace too, in which a worker sees:

    broker-N/data  the log directory of its own broker; an empty file system for each other broker
    seen/N         the log directory of its own broker; the driver has nothing there
    here           the log directory of its own broker; the driver sees that of broker 3 there

Works only inside a private machine (cluster.faults.private_machine), with which all its processes end.
"""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cluster.cluster import Cluster, MemberBroker
from cluster.faults.network import CLIENTS, Network
from cluster.faults.private_machine import run
from peer.broker_process import free_port, wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.topics import read_topic
from spark import class_data
from spark.session import QUICK_JVM, START_LIMIT_S, environment

HOSTS = {1: "one", 2: "two", 3: "three"}
"""By the broker that runs there."""
WORKERS = (1, 2)
"""The brokers whose hosts have a worker, too."""
TESTS = Path(__file__).parents[1]
MARKER = "marker"
LIMIT_S = 20.0
BYTES_OUT = r'^kafka_server_brokertopicmetrics_bytesout_total\{topic="%s"\} (\S+)$'
SERVED_AT = re.compile(r"Metrics are served at (http://\S+/metrics)")


class HostedBrokers(Cluster):
    """Three brokers, each on its host, with metrics."""

    def __init__(self, folder: Path, network: Network) -> None:
        self._network = network
        self._markers: dict[int, float] = {}
        own = {"log.cleaner.backoff.ms": "100", "replica.lag.time.max.ms": "30000"}
        super().__init__(folder, overrides=own)

    def new_broker(self, node: int, settings: Mapping[str, str], log_dirs: Sequence[Path] = ()) -> KafkastoreBroker:
        address = self._network.add(HOSTS[node])
        own = {"kafkastore.metrics.listener": f"{address}:0", "log.cleaner.enable": str(node != 2).lower()}
        made = MemberBroker(self.folder / f"broker-{node}", {**settings, **own}, log_dirs)
        made.host, made.prefix = address, self._network.prefix(HOSTS[node])
        return made

    def create_on(
        self, topic: str, assignment: Sequence[Sequence[int]], config: Mapping[str, str] | None = None
    ) -> None:
        """Returns when every broker knows the topic."""
        super().create_on(topic, assignment, config)
        admins = [self.admin_at(broker) for broker in self.brokers]

        def is_known() -> bool:
            return all(topic in admin.list_topics(timeout=10).topics for admin in admins)

        wait_until(is_known, LIMIT_S, f"every broker knows {topic}")

    def cut(self, one: int, other: int) -> None:
        """These brokers do not reach each other any more; a follower that cannot fetch is in sync for another 30 s."""
        self._network.cut_both(HOSTS[one], HOSTS[other])

    def heal(self) -> None:
        """All hosts reach one another again."""
        self._network.heal()

    def create_marker(self) -> None:
        """A topic with a record on each broker, for `fetched_bytes`."""
        self.create_on(MARKER, [[node] for node in HOSTS])

    def fetched_bytes(self, topics: Iterable[str]) -> dict[int, int]:
        """The bytes of the topics that consumers have fetched from each broker so far.

        The brokers' figures are up to a second old. So a record of the marker is fetched now, and figures that count
        it count all that was fetched before."""
        read_topic(self.bootstrap, MARKER)
        found = {}
        for node, broker in enumerate(self.brokers, 1):
            last, page = self._markers.get(node, 0.0), [""]

            def is_counted(broker: KafkastoreBroker = broker, last: float = last, page: list[str] = page) -> bool:
                page[0] = metrics_of(broker)
                return bytes_out(page[0], MARKER) > last

            wait_until(is_counted, LIMIT_S, f"broker {node} counts the fetch of its marker")
            self._markers[node] = bytes_out(page[0], MARKER)
            found[node] = int(sum(bytes_out(page[0], topic) for topic in topics))
        return found


def metrics_of(broker: KafkastoreBroker) -> str:
    served = SERVED_AT.findall(broker.output())
    if not served:
        return ""
    with urllib.request.urlopen(served[-1], timeout=LIMIT_S) as answer:
        text: str = answer.read().decode()
    return text


def bytes_out(page: str, topic: str) -> float:
    found = re.search(BYTES_OUT % re.escape(topic), page, re.MULTILINE)
    return float(found[1]) if found else 0.0


class Standalone:
    """The master and the workers. Nobody closes it: its processes end with the private machine."""

    def __init__(self, folder: Path, network: Network) -> None:
        self._folder = folder
        self._network = network
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.master = f"spark://{CLIENTS}:{free_port()}"

    @property
    def template(self) -> str:
        """The option `path`: directories that the driver sees, all of them, and each worker those of its broker."""
        return str(self._folder / "broker-{broker.id}" / "data")

    @property
    def seen(self) -> str:
        """The option `path`: directories that only the workers see."""
        return str(self._folder / "seen" / "{broker.id}")

    @property
    def here(self) -> Path:
        """One path, under which each machine has the directory of another broker."""
        return self._folder / "here"

    def start_master(self) -> None:
        port = self.master.rpartition(":")[2]
        self._start("master", "master.Master", CLIENTS, ["--port", port], [])

    def start_workers(self) -> None:
        """Starts the workers, beside brokers that have their directories; `wait_for_workers` waits for them."""
        self._wait_for("master", "I have been elected leader")
        self.here.mkdir()
        for node in HOSTS:
            (self._folder / "seen" / str(node)).mkdir(parents=True)
        for node in WORKERS:
            name = HOSTS[node]
            size = ["--cores", "1", "--memory", "768m", "--work-dir", str(self._folder / f"work-{name}")]
            prefix = [*self._network.prefix(name), *self._view_of(node)]
            self._start(name, "worker.Worker", self._network.addresses[name], [*size, self.master], prefix)
        run("mount", "--bind", str(self._data(3)), str(self.here))

    def wait_for_workers(self) -> None:
        for node in WORKERS:
            self._wait_for(HOSTS[node], "Successfully registered")

    def _data(self, node: int) -> Path:
        return self._folder / f"broker-{node}" / "data"

    def _view_of(self, node: int) -> list[str]:
        """A command that runs another one with the mounts of a worker."""
        own = self._data(node)
        mounts = [f"mount --bind {own} {self._folder}/seen/{node}", f"mount --bind {own} {self.here}"]
        mounts += [f"mount -t tmpfs none {self._data(other)}" for other in HOSTS if other != node]
        return ["unshare", "--mount", "sh", "-ec", "\n".join([*mounts, 'exec "$@"']), "sh"]

    def _start(self, name: str, entry: str, address: str, arguments: list[str], prefix: list[str]) -> None:
        temporary = self._folder / f"temporary-{name}"
        temporary.mkdir()
        env = os.environ | environment()
        env |= {"SPARK_LOCAL_IP": address, "SPARK_LOCAL_DIRS": str(temporary), "TMPDIR": str(temporary)}
        env |= {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": f"{QUICK_JVM} {class_data.options()}"}
        env |= {"KAFKASTORE_TEST_HOST": name, "PYTHONPATH": str(TESTS)}  # executors and their Python inherit both
        spark_class = Path(env["SPARK_HOME"]) / "bin" / "spark-class"
        command = [str(spark_class), f"org.apache.spark.deploy.{entry}", "--host", address, "--webui-port", "0"]
        with self._log_of(name).open("wb") as log:
            self._processes[name] = subprocess.Popen([*prefix, *command, *arguments], env=env, stdout=log, stderr=log)

    def _log_of(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def _wait_for(self, name: str, line: str) -> None:
        def has_said() -> bool:
            said = self._log_of(name).read_text(errors="replace")
            assert self._processes[name].poll() is None, f"{name} ended:\n{said[-4000:]}"
            return line in said

        wait_until(has_said, START_LIMIT_S, f"{name} of the cluster says {line!r}")
