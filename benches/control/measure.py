"""What a request costs other clients: the longest callback of the loop, and another client's longest heartbeat.

The clients are processes of their own (:class:`Asker`, :class:`Heartbeats`): threads in the broker's process would wait
for the interpreter besides the answer, and would delay the broker.
"""

from __future__ import annotations

import multiprocessing
import socket
import struct
import time
from asyncio import events
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any, Final

from kafkastore._core import request_encoder
from kafkastore.requests.registry import BY_KEY, BY_NAME

LIMIT_S: Final = 60.0
PAUSE_S: Final = 0.005


class Holds:
    """The longest callback of the loop since the last :meth:`look`, in CPU time."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        run = events.Handle._run  # noqa: SLF001 - the method that the loop calls

        def timed(handle: Any) -> None:
            begun = time.thread_time()
            run(handle)
            held = time.thread_time() - begun
            if held > self.longest_s:
                self.longest_s = held
                self.what = repr(handle)

        events.Handle._run = timed  # type: ignore[method-assign, assignment]  # noqa: SLF001
        self.what = ""

    def look(self) -> float:
        found, self.longest_s = self.longest_s, 0.0
        return found


class Client:
    def __init__(self, port: int, limit_s: float = LIMIT_S) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=limit_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, api: Any, version: int, body: bytes) -> bytearray | None:
        """The answer, beginning with its correlation id; None when the broker closed the connection."""
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


class Asker(ProcessPoolExecutor):
    """Sends requests from a process of its own, each on a new connection."""

    def __init__(self, port: int) -> None:
        super().__init__(1, multiprocessing.get_context("spawn"))
        self.port = port

    def ask(self, api_key: int, version: int, body: bytes, count: int = 1) -> str:
        """Sends the request from ``count`` clients at once; returns a few words on the answers."""
        return self.submit(_ask_at_once, self.port, api_key, version, body, count).result()


def _ask_at_once(port: int, api_key: int, version: int, body: bytes, count: int) -> str:
    if count == 1:
        return _ask(port, api_key, version, body)
    with ThreadPoolExecutor(count) as pool:
        answers = list(pool.map(lambda _: _ask(port, api_key, version, body), range(count)))
    return f"{count} x {answers[0]}"


def _ask(port: int, api_key: int, version: int, body: bytes) -> str:
    try:
        answer = Client(port).ask(BY_KEY[api_key], version, body)
    except TimeoutError:
        return "none"
    return "closed" if answer is None else f"{len(answer):,} B"


class Heartbeats:
    """Heartbeats of an unknown member, sent by a process of its own: the answer is an error, and as quick as any."""

    def __init__(self, port: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._ours, theirs = context.Pipe()
        self._process = context.Process(target=_beat, args=(port, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def look(self) -> float:
        """The longest heartbeat since the last call, in seconds."""
        self._ours.send(None)
        found: float = self._ours.recv()
        return found

    def stop(self) -> None:
        self._ours.close()
        self._process.join(LIMIT_S)


def _beat(port: int, asked: Connection) -> None:
    """Sends heartbeats until the pipe is closed, and answers each message with the longest since the last."""
    client, api, longest_s = Client(port), BY_NAME["Heartbeat"], 0.0
    values = {"group_id": "honest", "generation_id": 1, "member_id": "m", "group_instance_id": None}
    body = request_encoder(api.key, 4).row(values)
    while True:
        begun = time.monotonic()
        client.ask(api, 4, body)
        longest_s = max(longest_s, time.monotonic() - begun)
        if not asked.poll(PAUSE_S):
            continue
        try:
            asked.recv()
        except EOFError:
            return
        asked.send(longest_s)
        longest_s = 0.0
