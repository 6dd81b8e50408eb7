"""Kafka's own tools and clients, run in one long-lived JVM (java/ToolServer.java): a JSON line in, a JSON line out."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer.class_data import PROGRAM, options
from peer.jars import classpath

TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
    "kafka-delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-producer-perf-test": "org.apache.kafka.tools.ProducerPerformance",
    "kafka-consumer-perf-test": "org.apache.kafka.tools.ConsumerPerformance",
}


@dataclass(frozen=True)
class ToolResult:
    exit: int
    out: str
    err: str


@dataclass(frozen=True)
class JavaRecord:
    """A record as the Java clients send and read it."""

    partition: int | None
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int = -1
    timestamp_type: str = "CreateTime"

    def as_sent(self) -> list[Any]:
        return [
            self.partition,
            self.timestamp,
            _text(self.key),
            _text(self.value),
            [[k, _text(v)] for k, v in self.headers],
        ]

    @classmethod
    def as_read(cls, node: dict[str, Any]) -> JavaRecord:
        headers = tuple((name, _bytes(value)) for name, value in node["headers"])
        place = {"partition": node["partition"], "timestamp": node["timestamp"], "offset": node["offset"]}
        return cls(
            key=_bytes(node["key"]),
            value=_bytes(node["value"]),
            headers=headers,
            timestamp_type=node["timestamp_type"],
            **place,
        )


class JavaError(AssertionError):
    """What a Java client threw: `Class: message`."""


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class JavaTools:
    """One JVM. Calls follow one another; a call that throws in Java raises JavaError here."""

    def __init__(self, log: Path, class_data: Sequence[str] | None = None) -> None:
        """`class_data`: options for the archive of its classes."""
        self._log = log.open("wb")
        command = [
            "java",
            *(options(PROGRAM) if class_data is None else class_data),
            "-Xms64m",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",  # another JVM of the same process id may have the file: its warning is no answer
            "-cp",
            classpath(),
            "ToolServer",
        ]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log)

    def finish(self, limit_s: float) -> None:
        """Ends its requests, which ends the JVM; waits for that."""
        self._process.communicate(timeout=limit_s)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the JVM ended; see {self._log.name}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def tool(self, name: str, *args: str, stdin: str = "") -> ToolResult:
        """Runs one of TOOLS, as its shell script would."""
        return ToolResult(**self._ask({"tool": TOOLS[name], "args": list(args), "stdin": stdin}))

    def call(self, name: str, bootstrap: str, /, **arguments: Any) -> Any:
        """One call of JavaClient or JavaAdmin."""
        answer = self._ask({"call": name, "bootstrap": bootstrap, **arguments})
        if "error" in answer:
            raise JavaError(answer["error"])
        return answer["result"]

    def produce(
        self, bootstrap: str, topic: str, records: list[JavaRecord], transaction: str = "", **config: str
    ) -> list[tuple[int, int]]:
        """Sends the records; config names with `_` for `.`. Returns (partition, offset) of each."""
        arguments: dict[str, Any] = {
            "topic": topic,
            "records": [record.as_sent() for record in records],
            "config": _config(config),
        }
        if transaction:
            arguments["transaction"] = transaction
        return [(partition, offset) for partition, offset in self.call("produce", bootstrap, **arguments)]

    def consume(
        self, bootstrap: str, topic: str, isolation: str = "read_uncommitted", **start: int
    ) -> list[JavaRecord]:
        """Reads the topic to its end, from its beginning or from_offset= or from_timestamp=; by partition and
        offset."""
        config = {
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "max.partition.fetch.bytes": str(4 << 20),
            "fetch.max.wait.ms": "20",  # the client closes when its last fetch, which finds nothing, has returned
        }
        nodes = self.call("consume", bootstrap, topic=topic, config=config, **start)
        return sorted(map(JavaRecord.as_read, nodes), key=lambda record: (record.partition or 0, record.offset))


def _config(names: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in names.items()}
