"""A broker that stops acknowledges the records that it has appended: the log has exactly the acknowledged records.

Each producer sends requests of one record, five in flight, and repeats none. So a partition has as many records as
acknowledgements, unless a record was appended and then refused, or not answered. Before brokers waited for their
followers at a stop, this happened to 5 to 35 of 60 requests in flight, in every stop.
"""

from __future__ import annotations

import struct
import threading
from pathlib import Path

import pytest

from cluster.cluster import Cluster
from parity.batch import record_batch
from peer.broker_process import wait_until
from peer.kafkastore_broker import KafkastoreBroker
from peer.wire_socket import WireSocket, frame, request_header

TOPIC = b"t"
PARTITIONS = 6
PRODUCERS = 2
"""Producers for each partition."""
IN_FLIGHT = 5
BATCH = record_batch(1)
NOT_LEADER_OR_FOLLOWER = 6
ENOUGH = 200
"""Acknowledgements of each producer before the stop."""


def produce(partition: int) -> bytes:
    head = struct.pack(">hhiih", -1, -1, 30_000, 1, len(TOPIC)) + TOPIC
    body = head + struct.pack(">iii", 1, partition, len(BATCH)) + BATCH
    return frame(request_header(0, 7) + body)


def error_of(answer: bytes) -> int:
    (error,) = struct.unpack_from(">h", answer, 4 + 4 + 2 + len(TOPIC) + 4 + 4)
    return int(error)


class OneProducer(threading.Thread):
    """Sends records until the broker closes the connection or answers that it does not lead any more."""

    def __init__(self, broker: KafkastoreBroker, partition: int) -> None:
        super().__init__(daemon=True)
        self.partition = partition
        self.acknowledged = 0
        self.errors: list[int] = []
        self._port = broker.port

    def run(self) -> None:
        sent = answered = 0
        with WireSocket(self._port, timeout_s=30) as connection:
            try:
                while not self.errors or answered < sent:
                    while sent - answered < IN_FLIGHT and not self.errors:
                        sent += 1
                        connection.send(produce(self.partition))
                    error = error_of(connection.receive())
                    answered += 1
                    if error:
                        self.errors.append(error)
                    else:
                        self.acknowledged += 1
            except OSError:
                self._read_what_is_left(connection)

    def _read_what_is_left(self, connection: WireSocket) -> None:
        try:
            while True:
                error = error_of(connection.receive())
                self.acknowledged += not error
        except (OSError, struct.error):
            return


@pytest.mark.parametrize("stopped", [(2,), (1, 2, 3)], ids=["one broker", "all brokers at once"])
def test_records_in_the_logs_are_those_that_were_acknowledged(tmp_path: Path, stopped: tuple[int, ...]) -> None:
    with Cluster(tmp_path).running() as cluster:
        cluster.create_on(TOPIC.decode(), [[1 + (at + step) % 3 for step in range(3)] for at in range(PARTITIONS)])
        cluster.wait_in_sync(TOPIC.decode(), 3)
        leaders = {partition: 1 + partition % 3 for partition in range(PARTITIONS)}
        producers = [
            OneProducer(cluster.broker(node), partition)
            for partition, node in leaders.items()
            for _ in range(PRODUCERS)
            if node in stopped
        ]
        for one in producers:
            one.start()
        wait_until(lambda: all(one.acknowledged > ENOUGH for one in producers), 30, "all produce")
        assert (cluster.stop() if len(stopped) > 1 else [cluster.broker(stopped[0]).stop()]) == [0] * len(stopped)
        for one in producers:
            one.join(30)
        if len(stopped) == 1:
            cluster.stop()
        for partition in {one.partition for one in producers}:
            acknowledged = sum(one.acknowledged for one in producers if one.partition == partition)
            logs = cluster.log_bytes(TOPIC.decode(), partition)
            assert max(len(log) for log in logs) == acknowledged * len(BATCH), f"partition {partition}"
        assert {error for one in producers for error in one.errors} <= {NOT_LEADER_OR_FOLLOWER}
