"""One raw connection: single requests to any Kafka-compatible broker, one at a time.

A request is given as plain dicts and lists, see ``messages``. Never retries and never interprets an answer.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

from parity import messages

ANSWER_TIMEOUT_SECONDS = 10.0


class ConnectionClosedError(Exception):
    """The broker closed the connection instead of answering."""


class RawClient:
    """A blocking connection to ``host:port``, or one that is open already."""

    def __init__(
        self, host: str, port: int, connection: socket.socket | None = None, client_id: str = "parity"
    ) -> None:
        self._client_id = client_id
        self._socket = connection or socket.create_connection((host, port), ANSWER_TIMEOUT_SECONDS)
        self._correlation_id = 0

    def set_timeout(self, seconds: float) -> None:
        """How long an answer is waited for."""
        self._socket.settimeout(seconds)

    def close(self) -> None:
        self._socket.close()

    def ask(self, api: str, version: int, given: Mapping[str, Any]) -> Any:
        """Sends one request and returns the answer as an object."""
        request = messages.request(api, version, given)
        self._correlation_id += 1
        self._socket.sendall(messages.frame(request, self._correlation_id, self._client_id))
        (length,) = struct.unpack(">i", self._receive(4))
        payload = self._receive(length)
        if int.from_bytes(payload[:4], signed=True) != self._correlation_id:
            raise AssertionError("an answer to another request")
        return messages.answer(api, version, payload)

    def _receive(self, count: int) -> bytes:
        chunks = b""
        while len(chunks) < count:
            chunk = self._socket.recv(count - len(chunks))
            if not chunk:
                raise ConnectionClosedError
            chunks += chunk
        return chunks
