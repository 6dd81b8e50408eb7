"""Produce and Fetch as raw frames on blocking sockets, several in flight: a driver that uses little CPU.

produce v7 := transactional_id:null acks:int16 timeout_ms:int32 [topic [partition:int32 records:bytes]]
fetch v4   := replica_id:int32 max_wait_ms:int32 min_bytes:int32 max_bytes:int32 isolation:int8
                  [topic [partition offset max_bytes]]
"""

from __future__ import annotations

import socket
import struct
import time
from collections import deque
from dataclasses import dataclass

from crc32c import crc32c

PRODUCE, PRODUCE_VERSION = 0, 7
FETCH, FETCH_VERSION = 1, 4
FETCH_HEAD_BYTES = 4 + 4 + 4  # correlation id, throttle time, topic count
IN_FLIGHT = 5  # as many as librdkafka's and Java's idempotent producers
LIMIT_BYTES = 1_200_000_000  # the most that one connection produces: it stays in the page cache
TIMEOUT_S = 30


def _varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def batch(values: list[bytes]) -> bytes:
    """A record batch (magic 2) without compression, null keys."""
    now = int(time.time() * 1000)
    records = b""
    for delta, value in enumerate(values):
        record = b"\0" + _varint(0) + _varint(delta) + _varint(-1) + _varint(len(value)) + value + _varint(0)
        records += _varint(len(record)) + record
    tail = struct.pack(">hiqqqhii", 0, len(values) - 1, now, now, -1, -1, -1, len(values)) + records
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def frame(api_key: int, version: int, body: bytes) -> bytes:
    payload = struct.pack(">hhi", api_key, version, 0) + string("load") + body
    return struct.pack(">i", len(payload)) + payload


def produce_frame(topic: str, partition: int, records: bytes, acks: int) -> bytes:
    head = struct.pack(">hhi", -1, acks, 10_000) + struct.pack(">i", 1) + string(topic)
    return frame(PRODUCE, PRODUCE_VERSION, head + struct.pack(">iii", 1, partition, len(records)) + records)


def fetch_frame(topic: str, partition: int, offset: int, max_bytes: int, max_wait_ms: int = 500) -> bytes:
    head = struct.pack(">iiiib", -1, max_wait_ms, 1, max_bytes, 0) + struct.pack(">i", 1) + string(topic)
    return frame(FETCH, FETCH_VERSION, head + struct.pack(">iiqi", 1, partition, offset, max_bytes))


@dataclass
class Fetched:
    error: int
    high_watermark: int
    size_bytes: int
    next_offset: int


class Connection:
    """One blocking connection."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray(1 << 20)

    def close(self) -> None:
        self.socket.close()

    def _receive_exactly(self, size: int) -> memoryview:
        if size > len(self._buffer):
            self._buffer = bytearray(size)
        view = memoryview(self._buffer)
        got = 0
        while got < size:
            count = self.socket.recv_into(view[got:size])
            if count == 0:
                raise ConnectionError("the broker closed the connection")
            got += count
        return view[:size]

    def receive(self) -> memoryview:
        """The next frame; valid until the next call."""
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        return self._receive_exactly(size)

    def produce_answered(self, topic: str) -> int:
        """The error code of the next produce response."""
        answer = self.receive()
        at = 4 + 4 + 2 + len(topic) + 4 + 4  # correlation id, topics, name, partitions, index
        (error,) = struct.unpack_from(">h", answer, at)
        return int(error)

    def fetch_answered(self, topic: str) -> Fetched:
        """The next fetch response; of its records only the batch headers are read."""
        answer = self.receive()
        at = FETCH_HEAD_BYTES + 2 + len(topic) + 4 + 4
        error, high_watermark, _, aborted = struct.unpack_from(">hqqi", answer, at)
        at += 22 + 16 * max(aborted, 0)
        (size,) = struct.unpack_from(">i", answer, at)
        at += 4
        end, next_offset = at + max(size, 0), -1
        while at + 61 <= end:
            base, length = struct.unpack_from(">qi", answer, at)
            if at + 12 + length > end:
                break  # the last batch is cut: it comes whole with the next fetch
            next_offset = base + struct.unpack_from(">i", answer, at + 23)[0] + 1
            at += 12 + length
        return Fetched(error, high_watermark, max(size, 0), next_offset)


@dataclass
class Run:
    """Requests that were answered, the bytes that they carried, and the latency of each."""

    requests: int
    payload_bytes: int
    seconds: float
    latencies_s: list[float]


NOT_LEADER_OR_FOLLOWER = 6
READY_LIMIT_S = 30.0


def wait_until_led(connection: Connection, topic: str, partition: int) -> None:
    """Produces a record, again until it is accepted: Metadata may name a leader that does not lead yet."""
    request = produce_frame(topic, partition, batch([b"ready"]), 1)
    deadline = time.perf_counter() + READY_LIMIT_S
    while True:
        connection.socket.sendall(request)
        error = connection.produce_answered(topic)
        if not error:
            return
        if error != NOT_LEADER_OR_FOLLOWER or time.perf_counter() > deadline:
            raise RuntimeError(f"produce was answered with error {error}")
        time.sleep(0.01)


def produce(connection: Connection, topic: str, partition: int, records: bytes, seconds: float, acks: int = 1) -> Run:
    """Keeps IN_FLIGHT requests in flight, for ``seconds`` or LIMIT_BYTES."""
    request = produce_frame(topic, partition, records, acks)
    sent: deque[float] = deque()
    latencies: list[float] = []
    started = time.perf_counter()
    deadline = started + seconds
    now = started
    left = LIMIT_BYTES // len(records)
    while sent or (left and now < deadline):
        while len(sent) < IN_FLIGHT and left and now < deadline:
            left -= 1
            sent.append(time.perf_counter())
            connection.socket.sendall(request)
        error = connection.produce_answered(topic)
        if error:
            raise RuntimeError(f"produce was answered with error {error}")
        now = time.perf_counter()
        latencies.append(now - sent.popleft())
    return Run(len(latencies), len(latencies) * len(records), now - started, latencies)


def fetch(connection: Connection, topic: str, partition: int, end: int, max_bytes: int, seconds: float) -> Run:
    """Reads the partition from its start to `end`, again and again, one request at a time."""
    offset = payload = 0
    latencies: list[float] = []
    started = now = time.perf_counter()
    while now - started < seconds:
        connection.socket.sendall(fetch_frame(topic, partition, offset, max_bytes))
        before, answer = now, connection.fetch_answered(topic)
        if answer.error or answer.next_offset <= offset:
            raise RuntimeError(f"fetch at {offset} was answered with {answer}")
        offset = answer.next_offset if answer.next_offset < end else 0
        payload += answer.size_bytes
        now = time.perf_counter()
        latencies.append(now - before)
    return Run(len(latencies), payload, now - started, latencies)
