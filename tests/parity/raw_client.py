"""One raw connection: kio-encoded requests to any Kafka-compatible broker, one at a time.

A request is given as plain dicts and lists, see ``kio_entities``. Never retries and never interprets an answer.
"""

from __future__ import annotations

import io
import socket
import struct
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.schema.describe_transactions.v0.response import DescribeTransactionsResponse
from parity.kio_entities import build, load

if TYPE_CHECKING:
    from collections.abc import Mapping

ANSWER_TIMEOUT_SECONDS = 10.0
DESCRIBE = "describe_transactions"


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
        """Sends one request and returns the decoded response entity."""
        from kio.serial import entity_reader, entity_writer

        request_class = load(api, version, "request")
        response_class = DescribeTransactionsResponse if api == DESCRIBE else load(api, version, "response")
        self._correlation_id += 1
        header = build(
            request_class.__header_schema__,
            {
                "request_api_key": request_class.__api_key__,
                "request_api_version": version,
                "correlation_id": self._correlation_id,
                "client_id": self._client_id,
            },
        )
        out = io.BytesIO()
        entity_writer(type(header))(out, header)
        entity_writer(request_class)(out, build(request_class, given))
        frame = out.getvalue()
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (length,) = struct.unpack(">i", self._receive(4))
        body = self._receive(length)
        answer_header, offset = entity_reader(response_class.__header_schema__)(body, 0)
        if answer_header.correlation_id != self._correlation_id:
            raise AssertionError("an answer to another request")
        answer, size = entity_reader(response_class)(body, offset)
        offset += size
        if offset != len(body):
            raise AssertionError(f"{len(body) - offset} bytes left after {api} v{version}")
        return answer

    def _receive(self, count: int) -> bytes:
        chunks = b""
        while len(chunks) < count:
            chunk = self._socket.recv(count - len(chunks))
            if not chunk:
                raise ConnectionClosedError
            chunks += chunk
        return chunks
