"""Moves partitions of a trial's topic with Apache Kafka's kafka-reassign-partitions: begins, cancels, verifies.

The progress is asked of a broker by the protocol, because the tool takes a second to start. This module judges nothing.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from cluster.cluster import log_size
from parity.raw_client import ConnectionClosedError, RawClient
from peer.broker_process import wait_until
from peer.java_tools import JavaTools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cluster.faults.faulty_cluster import FaultyCluster

    Assignment = Sequence[Sequence[int]]

UNHELD = 1_000_000_000
"""Bytes a second: a throttle too high to limit anything."""

LISTED_LIMIT_S = 30.0


class Move:
    """A move from one assignment of the topic to another. Its creator closes it."""

    def __init__(self, cluster: FaultyCluster, topic: str, origin: Assignment, target: Assignment) -> None:
        self.cluster = cluster
        self.topic = topic
        self.target = [list(replicas) for replicas in target]
        self._added = [
            (node, number)
            for number, (before, after) in enumerate(zip(origin, target, strict=True))
            for node in set(after) - set(before)
        ]
        self._plan = cluster.folder / f"{topic}.json"
        partitions = [
            {"topic": topic, "partition": number, "replicas": replicas} for number, replicas in enumerate(self.target)
        ]
        self._plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
        self._java = JavaTools(cluster.folder / f"{topic}.java.log")

    def close(self) -> None:
        self._java.close()

    # ---- steps of the tool
    def begin(self, rate: int) -> float:
        """Begins the move, limited to ``rate`` bytes a second in each direction of each broker; returns the time at
        which the tool had requested it."""
        said = self._tool("--execute", "--throttle", str(rate))
        assert "Successfully started partition reassignments" in said, said
        return time.monotonic()

    def let_go(self) -> None:
        """Ends the limit; the throttle's configuration stays until :meth:`verify`."""
        self._tool("--execute", "--additional", "--throttle", str(UNHELD))

    def cancel(self, *, keeps_throttles: bool) -> None:
        """Cancels the move. When a broker is dead the throttles must be kept, because the tool would remove them from
        that broker, too."""
        said = self._tool("--cancel", *(["--preserve-throttles"] if keeps_throttles else []))
        assert "Successfully cancelled partition reassignments" in said, said

    def verify(self) -> str:
        """The tool's output; it removes the throttles when no partition moves any more."""
        return self._tool("--verify")

    def _tool(self, *args: str) -> str:
        bootstrap = ",".join(broker.bootstrap for broker in self.cluster.brokers if broker.is_running())
        given = ("--bootstrap-server", bootstrap, "--reassignment-json-file", str(self._plan), *args)
        result = self._java.tool("kafka-reassign-partitions", *given)
        assert result.exit == 0, result
        return result.out

    # ---- progress
    def under_way(self) -> dict[int, list[int]]:
        """The replicas of the partitions that move, as the controller lists them; waits until a controller answers."""
        found: dict[int, list[int]] = {}

        def is_told() -> bool:
            try:
                answer = self._ask_controller("list_partition_reassignments", 0, topics=None, timeout_ms=5000)
            except (OSError, ConnectionClosedError, KafkaException):
                return False
            if answer.error_code != 0:
                return False
            found.update(
                {
                    one.partition_index: list(one.replicas)
                    for topic in answer.topics
                    if topic.name == self.topic
                    for one in topic.partitions
                }
            )
            return True

        wait_until(is_told, LISTED_LIMIT_S, "the controller lists what moves")
        return found

    def _ask_controller(self, api: str, version: int, **given: Any) -> Any:
        broker = next(broker for broker in self.cluster.brokers if broker.is_running())
        with closing(RawClient(broker.host, broker.port)) as client:
            return client.ask(api, version, given)

    def copied(self) -> int:
        """Bytes in the segments of the replicas that are added."""
        folders = [self.cluster.broker(node).log_dir / f"{self.topic}-{number}" for node, number in self._added]
        return log_size(folders)
