"""The tools of Apache Kafka 2.0, which go through ZooKeeper: one JVM for each run, as their scripts do it."""

from __future__ import annotations

import subprocess

from peer.jars import jars

TOOLS = {
    "kafka-reassign-partitions": "kafka.admin.ReassignPartitionsCommand",
    "kafka-preferred-replica-election": "kafka.admin.PreferredReplicaLeaderElectionCommand",
    "kafka-topics": "kafka.admin.TopicCommand",
}
JVM = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LIMIT_S = 60


def run(tool: str, zookeeper: str, *args: str) -> str:
    """What it prints; it must end well."""
    command = ["java", *JVM, "-cp", f"{jars('pom-2.0.xml')}/*", TOOLS[tool], "--zookeeper", zookeeper, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout
