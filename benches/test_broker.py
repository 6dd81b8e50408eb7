"""What a broker inside a test costs (`docs/testing.md`): from `Broker()` to the first acknowledged produce, a cluster
of three, and what many brokers one after another leave behind in their process.

    PYTHONPATH=python python benches/test_broker.py [--brokers 100] [--clusters 10] [--in-a-row 500]

The producer speaks the protocol over a plain socket, so no client's own start is measured: a connection, ApiVersions,
Metadata, Produce with acks=all. The first broker, which imports the code, is told apart.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import logging
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kafkastore._core import build_batch
from kafkastore.messages import OutgoingRequest
from kafkastore.testing import Broker, Cluster

HEADER = b"\0\x05bench"
ROUNDS_BEFORE = 20
"""Brokers before the first look at what is left: allocators and caches have taken what they keep."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--in-a-row", type=int, default=500)
    given = parser.parse_args()
    logging.getLogger("kafkastore").setLevel(logging.ERROR)  # the brokers of a cluster that ends warn of each other
    print(f"import kafkastore.testing: {_import_ms():.1f} ms")
    print(f"first Broker() of the process to an acknowledged produce: {_broker_ms():.1f} ms")
    _show("Broker() to an acknowledged produce", [_broker_ms() for _ in range(given.brokers)])
    _show("Cluster(3) to an acknowledged produce", [_cluster_ms() for _ in range(given.clusters)])
    for _ in range(ROUNDS_BEFORE):
        _broker_ms()
    before = _left()
    for _ in range(given.in_a_row):
        _broker_ms()
    after = _left()
    for what, first, last in zip(("threads", "descriptors", "resident KiB"), before, after, strict=True):
        print(f"{what} before and after {given.in_a_row} brokers: {first} and {last}")


def _import_ms() -> float:
    code = "import time; t = time.perf_counter(); import kafkastore.testing; print(time.perf_counter() - t)"
    return min(float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)) * 1000


def _broker_ms() -> float:
    began = time.perf_counter()
    with Broker(topics={"t": 1}) as broker:
        assert produce(broker.settings.host, broker.port) == 0
        return (time.perf_counter() - began) * 1000


def _cluster_ms() -> float:
    began = time.perf_counter()
    with Cluster(3, topics={"t": 1}) as cluster:
        leader = cluster.wait_for_leader("t")
        assert produce(leader.settings.host, leader.port) == 0
        return (time.perf_counter() - began) * 1000


def produce(host: str, port: int) -> int:
    """One record to partition 0 of topic ``t``, acknowledged by all. Returns the error's code, 0 for none."""
    batch = build_batch([(b"key", b"value")], time.time_ns() // 1_000_000)
    partition = {"index": 0, "records": batch}
    fields = {"acks": -1, "timeout_ms": 5000, "topic_data": [{"name": "t", "partition_data": [partition]}]}
    answer = ask(host, port, OutgoingRequest("Produce", 7, fields))
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def ask(host: str, port: int, request: OutgoingRequest) -> Any:
    """Over a connection of its own; ``request`` has no version that is flexible."""
    with socket.create_connection((host, port)) as connection:
        frame = request.api_key.to_bytes(2) + request.version.to_bytes(2) + b"\0\0\0\x01" + HEADER + request.body()
        connection.sendall(len(frame).to_bytes(4) + frame)
        return request.response(_read(connection, int.from_bytes(_read(connection, 4)))[4:])


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        piece = connection.recv(size - len(found))
        assert piece, "the broker closed the connection"
        found += piece
    return found


def _left() -> tuple[int, int, int]:
    """Memory that the C library keeps free for itself is given back before."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    status = Path("/proc/self/status").read_text()
    resident = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), int(resident)


def _show(what: str, figures: list[float]) -> None:
    if figures:
        ordered = sorted(figures)
        p95 = ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]
        print(
            f"{what}: {statistics.median(ordered):.1f} ms median, {p95:.1f} ms 95th percentile, "
            f"{ordered[-1]:.1f} ms longest of {len(ordered)}"
        )


if __name__ == "__main__":
    main()
