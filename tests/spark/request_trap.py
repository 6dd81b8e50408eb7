"""A proxy before a broker that springs at a chosen request of one client: before the broker gets it, or after."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import NamedTuple

CLIENT_ID = b"kafkastore-sink"
CHUNK_BYTES = 1 << 16


class Trap(NamedTuple):
    """The `number`th request of the API (0 is the first) since the trap was set."""

    api: int
    number: int
    is_forwarded: bool
    """Whether the broker still gets the request; its answer is lost."""


class RequestTrap:
    """Listens on a port, and forwards every connection to the broker's."""

    def __init__(self, port: int, broker_port: int, client_id: bytes = CLIENT_ID) -> None:
        self._client_id = client_id
        self._broker_port = broker_port
        self._lock = threading.Lock()
        self._trap: Trap | None = None
        self._spring: Callable[[], None] = lambda: None
        self._seen = 0
        self.has_sprung = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def set(self, trap: Trap, spring: Callable[[], None]) -> None:
        with self._lock:
            self._trap, self._spring, self._seen = trap, spring, 0
            self.has_sprung.clear()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._broker_port))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        try:
            while frame := read_frame(client):
                trap = self._sprung_by(frame)
                if trap is None or trap.is_forwarded:
                    server.sendall(frame)
                if trap is not None:
                    self._spring()
                    self.has_sprung.set()
        except OSError:
            pass
        finally:
            shut(client, server)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while chunk := server.recv(CHUNK_BYTES):
                client.sendall(chunk)
        except OSError:
            pass
        finally:
            shut(client, server)

    def _sprung_by(self, frame: bytes) -> Trap | None:
        api, _version, _correlation, length = struct.unpack_from(">hhih", frame, 4)
        if frame[14 : 14 + max(length, 0)] != self._client_id:
            return None
        with self._lock:
            trap = self._trap
            if trap is None or api != trap.api:
                return None
            self._seen += 1
            if self._seen <= trap.number:
                return None
            self._trap = None
            return trap


def read_frame(client: socket.socket) -> bytes:
    """A whole request with its size; empty at the end."""
    size = read_exactly(client, 4)
    return size + read_exactly(client, int.from_bytes(size)) if size else b""


def read_exactly(client: socket.socket, length: int) -> bytes:
    found = bytearray()
    while len(found) < length:
        chunk = client.recv(length - len(found))
        if not chunk:
            return b""
        found += chunk
    return bytes(found)


def shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
