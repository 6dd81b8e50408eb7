"""Apache Kafka 4.3 itself: one KRaft broker and controller on loopback, the reference that our tests are proven
against."""

from __future__ import annotations

import subprocess

from peer.broker_process import BrokerProcess, free_port
from peer.jars import classpath

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


class ApacheKafka(BrokerProcess):
    kind = "kafka"
    jvm = QUICK_JVM
    controller_port = 0

    def properties(self) -> dict[str, str]:
        self.controller_port = self.controller_port or free_port()
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
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
        format_command = ["java", *QUICK_JVM, "-cp", classpath(), "kafka.tools.StorageTool", "format"]
        format_command += ["-t", CLUSTER_ID, "-c", str(self.properties_file)]
        done = subprocess.run(format_command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def command(self) -> list[str]:
        return [
            "java",
            *self.jvm,
            "-Djava.awt.headless=true",
            "-cp",
            classpath(),
            "kafka.Kafka",
            str(self.properties_file),
        ]


class ApacheKafkaForMeasurement(ApacheKafka):
    jvm = SERVER_JVM
