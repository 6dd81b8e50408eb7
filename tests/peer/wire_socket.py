"""A client connection reduced to bytes: frames out, frames in, nothing understood beyond the header.

frame          := size:int32 payload
request header := api_key:int16 api_version:int16 correlation_id:int32 client_id:nullable string [tagged fields]
response       := correlation_id:int32 [tagged fields] body
"""

from __future__ import annotations

import socket
import struct
from types import TracebackType
from typing import Self

API_VERSIONS = 18
METADATA = 3
CLIENT_ID = b"wire-socket"


class ConnectionClosedError(OSError):
    """The broker closed the connection where a response was due."""


def request_header(api_key: int, api_version: int, correlation_id: int = 1, flexible: bool = False) -> bytes:
    header = struct.pack(">hhih", api_key, api_version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    return header + b"\0" if flexible else header


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


class WireSocket:
    """One TCP connection, from the address `source` if one is given; every wait is bounded by `timeout_s`."""

    def __init__(self, port: int, timeout_s: float = 10.0, host: str = "127.0.0.1", source: str | None = None) -> None:
        self.socket = socket.create_connection((host, port), timeout_s, source and (source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive_exactly(self, size: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            chunk = self.socket.recv(min(size - len(chunks), 1 << 20))
            if not chunk:
                raise ConnectionClosedError(f"closed after {len(chunks)} of {size} bytes")
            chunks += chunk
        return bytes(chunks)

    def receive(self) -> bytes:
        """The payload of the next frame."""
        (size,) = struct.unpack(">i", self.receive_exactly(4))
        return self.receive_exactly(size)

    def ask(
        self, api_key: int, api_version: int, body: bytes, correlation_id: int = 1, flexible: bool = False
    ) -> bytes:
        """Sends one request; returns the response after its correlation id (a flexible response header's tags
        included)."""
        self.send(frame(request_header(api_key, api_version, correlation_id, flexible) + body))
        answer = self.receive()
        (answered,) = struct.unpack(">i", answer[:4])
        assert answered == correlation_id, f"response to {answered}, asked {correlation_id}"
        return answer[4:]

    def is_closed_by_peer(self) -> bool:
        """True when the peer closes without sending a byte; False when it sends one or the time is up."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False

    def is_closed_after_its_answers(self) -> bool:
        """True when the peer closes, whatever it sends before; False when the time is up."""
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return True

    def has_broker(self) -> bool:
        """Whether Metadata v1 (no topics) lists a broker: Apache Kafka listens before its broker is registered."""
        answer = self.ask(METADATA, 1, struct.pack(">i", 0))
        (brokers,) = struct.unpack(">i", answer[:4])
        return int(brokers) > 0
