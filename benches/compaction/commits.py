"""Many commits of many groups: how large their topic stays, and how soon after a start a group gets its offsets."""

from __future__ import annotations

import struct
import time
from typing import Final

from load.process import cpu_seconds, memory_mb
from load.wire import Connection, frame, string

from compaction.cleaning import Figures
from peer.broker_process import BrokerProcess
from peer.topics import create_topic

TOPIC: Final = "orders.of.all.shops"
GROUPS, PARTITIONS = 1000, 50
CONNECTIONS: Final = 8
SETTINGS: Final = {"offsets.topic.num.partitions": "16"}
OFFSET_COMMIT, COMMIT_VERSION = 8, 7
OFFSET_FETCH, FETCH_VERSION = 9, 5
FIND_COORDINATOR: Final = 10
PLACEHOLDER: Final = b"\x5a\x5a\x5a\x5a\x5a\x5a\x5a\x5a"
LOADING: Final = (14, 15, 16)  # the coordinator loads, is not available, is not this broker
SETTLE_S = 45.0  # longer than the rest between two looks of the cleaner
LIMIT_S = 600.0


def measure(broker: BrokerProcess, commits: int) -> Figures:
    broker.start()
    create_topic(broker.bootstrap, TOPIC, PARTITIONS)
    rounds = commits // GROUPS // PARTITIONS
    began, cpu_s = time.perf_counter(), cpu_seconds(broker.pid)
    _commit(broker.port, rounds)
    elapsed_s = time.perf_counter() - began
    figures = {
        "commits_per_s": commits / elapsed_s,
        "cpu_us_per_commit": (cpu_seconds(broker.pid) - cpu_s) / commits * 1e6,
    }
    time.sleep(SETTLE_S)
    figures["rss_mb"] = memory_mb(broker.pid)[0]
    figures["size_mb"] = _size_mb(broker)
    broker.stop()
    figures |= _start(broker, rounds)
    broker.stop()
    return figures


def _group(number: int) -> str:
    return f"payments.reconciliation-{number:04}"


def _commit(port: int, rounds: int) -> None:
    """Each group commits all partitions in a request, round after round; the round is the offset."""
    alone = struct.pack(">i", -1) + string("") + struct.pack(">h", -1)  # generation, member id, instance id
    of_partition = PLACEHOLDER + struct.pack(">i", -1) + string("")  # offset, leader epoch, metadata
    partitions = b"".join(struct.pack(">i", number) + of_partition for number in range(PARTITIONS))
    topics = struct.pack(">i", 1) + string(TOPIC) + struct.pack(">i", PARTITIONS) + partitions
    requests = [
        frame(OFFSET_COMMIT, COMMIT_VERSION, string(_group(number)) + alone + topics) for number in range(GROUPS)
    ]
    connections = [Connection(port) for _ in range(CONNECTIONS)]
    _wait_until_accepted(connections[0], requests)
    for offset in range(rounds):
        packed = struct.pack(">q", offset)
        for first in range(0, GROUPS, CONNECTIONS):
            for connection, request in zip(connections, requests[first : first + CONNECTIONS], strict=False):
                connection.socket.sendall(request.replace(PLACEHOLDER, packed))
            for connection, _ in zip(connections, requests[first : first + CONNECTIONS], strict=False):
                if error := _commit_error(connection.receive()):
                    raise SystemExit(f"a commit was answered with error {error}")
    for connection in connections:
        connection.close()


def _wait_until_accepted(connection: Connection, requests: list[bytes]) -> None:
    """The topic of offsets is made by the first look for a coordinator."""
    find = frame(FIND_COORDINATOR, 0, string(_group(0)))
    deadline = time.perf_counter() + LIMIT_S
    for request in requests:
        while True:
            connection.socket.sendall(find)
            connection.receive()
            connection.socket.sendall(request.replace(PLACEHOLDER, bytes(8)))
            error = _commit_error(connection.receive())
            if not error:
                break
            if error not in LOADING or time.perf_counter() > deadline:
                raise SystemExit(f"a commit was answered with error {error}")
            time.sleep(0.1)


def _commit_error(answer: memoryview) -> int:
    """The first error code of an answer to OffsetCommit; correlation id, throttle time, one topic, its partitions."""
    at = 4 + 4 + 4 + 2 + len(TOPIC) + 4
    return next((code for _, code in struct.iter_unpack(">ih", answer[at:]) if code), 0)


def _size_mb(broker: BrokerProcess) -> float:
    files = [path for folder in broker.log_dir.glob("__consumer_offsets-*") for path in folder.glob("*.log")]
    return sum(path.stat().st_size for path in files) / 1e6


def _start(broker: BrokerProcess, rounds: int) -> Figures:
    """From the start of the process to the first group's offsets, and to those of the last group."""
    topics = struct.pack(">i", 1) + string(TOPIC) + struct.pack(">ii", 1, 0)
    requests = [frame(OFFSET_FETCH, FETCH_VERSION, string(_group(number)) + topics) for number in range(GROUPS)]
    began = time.perf_counter()
    broker.launch()
    waiting = dict(enumerate(requests))
    first_s = 0.0
    connection = None
    while waiting:
        if time.perf_counter() - began > LIMIT_S:
            raise SystemExit(f"{broker.kind} has not loaded the offsets: {broker.output()[-2000:]}")
        try:
            connection = connection or Connection(broker.port)
            for number, request in list(waiting.items()):
                connection.socket.sendall(request)
                offset = _fetched_offset(connection.receive())
                if offset is not None:
                    assert offset == rounds - 1, (number, offset)
                    del waiting[number]
                    first_s = first_s or time.perf_counter() - began
        except (ConnectionError, OSError):
            connection = None
        time.sleep(0.005)
    all_s, cpu_s = time.perf_counter() - began, cpu_seconds(broker.pid)
    return {"first_offset_fetch_s": first_s, "last_offset_fetch_s": all_s, "start_cpu_s": cpu_s}


def _fetched_offset(answer: memoryview) -> int | None:
    """None while the group's offsets are loaded. The error code of the group ends the answer."""
    (error,) = struct.unpack_from(">h", answer, len(answer) - 2)
    if error in LOADING:
        return None
    if error:
        raise SystemExit(f"OffsetFetch was answered with error {error}")
    (offset,) = struct.unpack_from(">q", answer, 4 + 4 + 4 + 2 + len(TOPIC) + 4 + 4)
    return int(offset)
