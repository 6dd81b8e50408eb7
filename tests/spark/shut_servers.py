"""Servers that let nobody in, and count who tries."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

READ_S = 5.0


class ShutServer:
    """Hands each connection to ``serve`` and closes it; ``connections`` is how many there were."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self.connections = 0
        self._serve = serve
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, name="shut-server", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                with client, contextlib.suppress(OSError):
                    client.settimeout(READ_S)
                    self._serve(client)


def closes(_: socket.socket) -> None:
    """At once."""


def closes_when_asked(client: socket.socket) -> None:
    """When the first bytes have come: a request, or the beginning of TLS."""
    client.recv(1)


def with_tls(pair: Path) -> Callable[[socket.socket], None]:
    """Makes the handshake of TLS with that certificate, reads a request, and closes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)

    def serve(client: socket.socket) -> None:
        with context.wrap_socket(client, server_side=True) as shaken:
            shaken.recv(1)

    return serve
