"""``python -m control``: the longest hold of the loop by API and form, over a broker in this process.

Each request is sent by a client of its own; meanwhile another one sends heartbeats. The hold is the CPU time of the longest
callback of the loop, the stall the longest that a heartbeat waited. With ``--topics 10000`` the forms name as many topics.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time
from asyncio import events
from typing import Any

from kafkastore.config import BrokerConfig
from kafkastore.interbroker.encoding import encoder_of
from kafkastore.server.broker import Broker, collect_seldom
from kafkastore.server.context import schema_class
from kafkastore.server.registry import BY_NAME
from unit import expensive

LIMIT_S = 60.0


class Holds:
    """The longest callback of the loop, since the last look."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        run = events.Handle._run  # noqa: SLF001 - what the loop calls

        def timed(handle: Any) -> None:
            begun = time.thread_time()
            run(handle)
            held = time.thread_time() - begun
            if held > self.longest_s:
                self.longest_s = held
                self.what = repr(handle)

        events.Handle._run = timed  # type: ignore[method-assign]  # noqa: SLF001
        self.what = ""

    def look(self) -> float:
        found, self.longest_s = self.longest_s, 0.0
        return found


class Client:
    def __init__(self, port: int, limit_s: float = LIMIT_S) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=limit_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, api: Any, version: int, body: bytes) -> int | None:
        """The bytes of the answer; None when the connection was closed."""
        header = struct.pack(">hhih", api.key, version, 1, 4) + b"load" + (b"\0" if api.is_flexible(version) else b"")
        self.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        try:
            size = self._receive(4)
            left = length = int.from_bytes(size, "big")
            while left:
                left -= len(self._some(min(left, 1 << 20)))
        except EOFError:
            return None
        return length

    def _receive(self, count: int) -> bytes:
        out = b""
        while len(out) < count:
            out += self._some(count - len(out))
        return out

    def _some(self, count: int) -> bytes:
        found = self.socket.recv(count)
        if not found:
            raise EOFError
        return found


class Heartbeats(threading.Thread):
    """Of a member that nobody knows: the answer is an error, and as quick as any."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.client = Client(port)
        self.longest_s = 0.0
        self.api = BY_NAME["Heartbeat"]
        values = {"group_id": "honest", "generation_id": 1, "member_id": "m", "group_instance_id": None}
        self.body = encoder_of(schema_class(self.api, 4, "request")).row(values)

    def run(self) -> None:
        while True:
            begun = time.monotonic()
            if self.client.ask(self.api, 4, self.body) is None:
                return
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            time.sleep(0.005)

    def look(self) -> float:
        found, self.longest_s = self.longest_s, 0.0
        return found


def _rss_mb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


async def _create(port: int, topics: int) -> None:
    loop = asyncio.get_running_loop()
    api = BY_NAME["CreateTopics"]
    for start in range(0, topics, 1000):
        body = expensive.body_of(
            api, 7, expensive.Form("", min(1000, topics - start), False, lambda at, start=start: f"t{start + at}")
        )
        await loop.run_in_executor(None, Client(port).ask, api, 7, body)


async def _run(arguments: argparse.Namespace, folder: str, made: list[expensive.Expensive]) -> None:
    holds = Holds()
    config = BrokerConfig(
        {"log.dirs": folder, "listeners": "PLAINTEXT://127.0.0.1:0", "node.id": "1", **expensive_properties()}
    )
    broker = Broker(config)
    await broker.start()
    collect_seldom()
    port = broker.ports[0]
    begun = time.monotonic()
    await _create(port, arguments.topics)
    print(f"{arguments.topics} topics in {time.monotonic() - begun:.1f} s, longest hold {holds.look() * 1000:.0f} ms")
    idle_mb = _rss_mb()
    heartbeats = Heartbeats(port)
    heartbeats.start()
    await asyncio.sleep(0.2)
    print("| API | form | request | answer | took | longest hold | heartbeat | memory |")
    print("|---|---|---|---|---|---|---|---|")
    loop = asyncio.get_running_loop()
    names = frozenset(arguments.api) if arguments.api else None
    for one in made:
        if one.api.name == "DeleteTopics" and not (names and "DeleteTopics" in names):
            continue
        holds.look()
        heartbeats.look()
        before_mb = _rss_mb()
        begun = time.monotonic()
        try:
            size = await loop.run_in_executor(None, Client(port).ask, one.api, one.version, one.body)
            answer = "closed" if size is None else f"{size:,} B"
        except TimeoutError:
            answer = "none"
        took = time.monotonic() - begun
        await asyncio.sleep(0.05)
        print(
            f"| {one.api.name} | {one.form} | {len(one.body):,} B | {answer} | {took * 1000:.0f} ms |"
            f" {holds.look() * 1000:.1f} ms | {heartbeats.look() * 1000:.0f} ms | {_rss_mb() - before_mb:+.0f} MB |",
            flush=True,
        )
        if arguments.what:
            print(holds.what)
    print(f"memory {idle_mb:.0f} MB before, {_rss_mb():.0f} MB after")
    await broker.stop()


def expensive_properties() -> dict[str, str]:
    return {
        "num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "auto.create.topics.enable": "false",
        "num.network.threads": "1",
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="control", description=__doc__)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=90_000)
    parser.add_argument("--api", action="append")
    parser.add_argument("--what", action="store_true", help="show the callback that held the loop longest")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="control-")
    try:
        names = frozenset(arguments.api) if arguments.api else None
        made = list(expensive.requests(arguments.rows, arguments.topics, names))
        asyncio.run(_run(arguments, folder, made))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
