"""What a request costs others: the longest callback of the loop, the longest heartbeat of another client."""

from __future__ import annotations

import socket
import struct
import threading
import time
from asyncio import events
from typing import Any

from kafkastore.interbroker.encoding import encoder_of
from kafkastore.server.context import schema_class
from kafkastore.server.registry import BY_NAME

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

    def ask(self, api: Any, version: int, body: bytes) -> bytearray | None:
        """The answer, its correlation id in front; None when the connection was closed."""
        header = struct.pack(">hhih", api.key, version, 1, 4) + b"load" + (b"\0" if api.is_flexible(version) else b"")
        self.socket.sendall(struct.pack(">i", len(header) + len(body)) + header + body)
        try:
            return self._receive(int.from_bytes(self._receive(4)))
        except (EOFError, ConnectionResetError):
            return None

    def _receive(self, count: int) -> bytearray:
        found = bytearray(count)
        view, at = memoryview(found), 0
        while at < count:
            received = self.socket.recv_into(view[at:])
            if not received:
                raise EOFError
            at += received
        return found


class Heartbeats(threading.Thread):
    """Of a member that nobody knows: the answer is an error, and as quick as any."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.client = Client(port)
        self.longest_s = 0.0
        self._is_over = False
        self.api = BY_NAME["Heartbeat"]
        values = {"group_id": "honest", "generation_id": 1, "member_id": "m", "group_instance_id": None}
        self.body = encoder_of(schema_class(self.api, 4, "request")).row(values)

    def run(self) -> None:
        while not self._is_over:
            begun = time.monotonic()
            if self.client.ask(self.api, 4, self.body) is None:
                return
            self.longest_s = max(self.longest_s, time.monotonic() - begun)
            time.sleep(0.005)

    def look(self) -> float:
        found, self.longest_s = self.longest_s, 0.0
        return found

    def stop(self) -> None:
        self._is_over = True
        self.join(LIMIT_S)
        self.client.socket.close()
