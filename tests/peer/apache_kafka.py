"""Apache Kafka 4.4 itself: one KRaft broker and controller on loopback, the reference that our tests are proven
against."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

from peer import class_data
from peer.broker_process import BrokerProcess, free_port
from peer.cache import digest, made
from peer.jars import HERE, classpath

NODE_ID = "1"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
QUICK_JVM = [
    "-Xms256m",
    "-Xmx768m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
]  # tests: quick to start
SERVER_JVM = [
    "-Xms1g",
    "-Xmx1g",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
]  # measurements: as Kafka's own scripts
SINGLE_BROKER = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "num.partitions": "1",
}


def formatted_log_dirs(count: int) -> Path:
    """Folders 0, 1, …: so many log directories of one broker, as `kafka-storage format` leaves them."""
    return made(f"formatted-{digest(HERE / 'pom.xml')}-{count}", partial(_format, count))


def _format(count: int, folder: Path) -> None:
    properties = {
        "process.roles": "broker,controller",
        "node.id": NODE_ID,
        "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:1",
        "listeners": "PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": ",".join(str(folder / str(number)) for number in range(count)),
    }
    given = folder / "server.properties"
    given.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    command = ["java", *QUICK_JVM, "-cp", classpath(), "kafka.tools.StorageTool", "format"]
    done = subprocess.run([*command, "-t", CLUSTER_ID, "-c", given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class ApacheKafka(BrokerProcess):
    kind = "kafka"
    jvm = QUICK_JVM
    controller_port = 0

    def properties(self) -> dict[str, str]:
        self.controller_port = self.controller_port or free_port()
        return {
            "process.roles": "broker,controller",
            "node.id": NODE_ID,
            "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            **SINGLE_BROKER,
        }

    def prepare(self) -> None:
        if (self.log_dir / "meta.properties").exists():
            return
        formatted = formatted_log_dirs(len(self.log_dirs))
        for number, log_dir in enumerate(self.log_dirs):
            shutil.copytree(formatted / str(number), log_dir, dirs_exist_ok=True)

    def class_data(self) -> list[str]:
        """Options for the archive of its classes."""
        return class_data.options(class_data.BROKER)

    def command(self) -> list[str]:
        return [
            "java",
            *self.jvm,
            *self.class_data(),
            "-Djava.awt.headless=true",
            "-cp",
            classpath(),
            "kafka.Kafka",
            str(self.properties_file),
        ]


class ApacheKafkaForMeasurement(ApacheKafka):
    jvm = SERVER_JVM

    def class_data(self) -> list[str]:
        return []
