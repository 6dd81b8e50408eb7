"""What stands between clients and a broker with ordered faults: it takes the broker's port over, reads the requests,
and carries the orders out.

There is none before the first order: the data plane has its port, and no Python runs for a produce. Then the data
plane's socket is closed, this one listens at the same port, and the connections that clients have are cut, as by
a network: clients come back through the proxy. It connects to the listener ``FAULTS``, which advertises the same port.
It stays until the broker stops. On a listener with TLS the proxy is the end of TLS.

Answers keep the order of their requests. Sessions of Fetch are not used (an answer would name only what changed): the
proxy says that a session is not known, and gives none. Runs on the broker's loop.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore._core import decode_request
from kafkastore.requests.registry import AUTHENTICATION_APIS, BY_KEY
from kafkastore.testing import sockets
from kafkastore.testing.error_bodies import (
    FETCH_SESSION_ID_NOT_FOUND,
    SESSIONS_FROM,
    changed_metadata,
    error_body,
)

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from pathlib import Path

    from kafkastore.requests.registry import Api
    from kafkastore.testing.orders import Orders

logger = logging.getLogger("kafkastore.testing.proxy")

BACKLOG: Final = 512
CLOSING_PASSES: Final = 3
"""Of the loop, in which the transports of connections that have ended close their sockets."""

PRODUCE, FETCH, METADATA, API_VERSIONS, SASL_HANDSHAKE = 0, 1, 3, 18, 17
_APIS: Final = BY_KEY | {api.key: api for api in AUTHENTICATION_APIS}


class Request(NamedTuple):
    """A frame of a client, ``frame`` without its length."""

    frame: bytes
    api: Api
    version: int
    correlation_id: bytes
    body_at: int

    @property
    def is_flexible_answer(self) -> bool:
        return self.api.is_flexible(self.version) and self.api.key != API_VERSIONS


class Expected(NamedTuple):
    """The next answer on a connection: ``own``, or the broker's, changed or lost as the request's fate says."""

    request: Request | None
    own: bytes | None = None
    is_lost: bool = False
    error_code: int | None = None


class _LostAnswerError(Exception):
    """A test wants it so."""


class Proxy:
    """See the module."""

    def __init__(self, orders: Orders, port: int, upstream: tuple[str, int], pem: Path | None) -> None:
        """``upstream``: the listener ``FAULTS``. ``pem``: the broker's certificate, on a listener with TLS."""
        self._orders = orders
        self._port = port
        self._upstream = upstream
        self._tls: ssl.SSLContext | None = None
        if pem is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(pem)
        self._servers: list[asyncio.Server] = []
        self._connections: set[asyncio.Task[None]] = set()

    async def take_over(self) -> None:
        """Returns when the port is the proxy's. Raises OSError."""
        for family, address in sockets.take_port(self._port):
            listening = socket.create_server(address, family=family, backlog=BACKLOG)
            self._servers.append(await asyncio.start_server(self._serve, sock=listening, ssl=self._tls))
        sockets.cut([self._port])

    async def close(self) -> None:
        """When the broker has ended: the port is free, and every connection closed."""
        for server in self._servers:
            server.close()
        sockets.cut([self._port])  # also those that are not served yet
        if self._connections:
            await asyncio.wait(self._connections)
        for _ in range(CLOSING_PASSES):
            await asyncio.sleep(0)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """One connection, until either end closes it or the broker ends."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            upstream, to_broker = await asyncio.open_connection(*self._upstream)
            expected: asyncio.Queue[Expected] = asyncio.Queue()
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(self._pass_requests(reader, to_broker, expected))
                    both.create_task(_pass_answers(upstream, writer, expected))
            finally:
                to_broker.close()
        except* (OSError, asyncio.IncompleteReadError, _LostAnswerError):
            pass
        except* Exception:
            logger.exception("A connection ends by a bug of the proxy")
        finally:
            self._connections.discard(task)
            writer.close()

    async def _pass_requests(
        self, reader: StreamReader, to_broker: StreamWriter, expected: asyncio.Queue[Expected]
    ) -> None:
        is_plain = True  # the frames are requests
        while True:
            frame = await _frame(reader)
            request = _request(frame) if is_plain else None
            if request is None:
                next_one: Expected | None = Expected(None)
            elif _is_in_session(request):
                next_one = Expected(request, _refusal(request, FETCH_SESSION_ID_NOT_FOUND))
            else:
                is_plain = (request.api.key, request.version) != (
                    SASL_HANDSHAKE,
                    0,
                )  # then come tokens without a header
                fate = self._orders.take(request.api.key)
                if fate.delay_ms:
                    await asyncio.sleep(fate.delay_ms / 1000)
                next_one = _expected(request, fate.error_code, is_lost=fate.is_lost)
            if next_one is not None:
                expected.put_nowait(next_one)
                if next_one.own is not None:
                    continue
            to_broker.write(len(frame).to_bytes(4) + frame)
            await to_broker.drain()


def _expected(request: Request, error_code: int | None, *, is_lost: bool) -> Expected | None:
    """None for a request without an answer that is carried out."""
    key = request.api.key
    if key == PRODUCE and _decoded(request).acks == 0:
        return None if error_code is None else Expected(request, b"")
    if error_code is None or key == METADATA:
        return Expected(request, None, is_lost, error_code)
    return Expected(request, _refusal(request, error_code))


async def _pass_answers(upstream: StreamReader, writer: StreamWriter, expected: asyncio.Queue[Expected]) -> None:
    while True:
        one = await expected.get()
        frame = one.own
        if frame is None:
            frame = await _frame(upstream)
            if one.is_lost:
                raise _LostAnswerError
            if one.request is not None:
                frame = _changed(one.request, frame, one.error_code)
        if frame:
            writer.write(len(frame).to_bytes(4) + frame)
            await writer.drain()


def _changed(request: Request, frame: bytes, error_code: int | None) -> bytes:
    """The broker's answer: of Fetch without a session, of Metadata with an ordered error."""
    body_at = 4 + request.is_flexible_answer
    if request.api.key == FETCH and request.version >= SESSIONS_FROM:
        session_at = body_at + 6  # behind the throttle time and the error
        return frame[:session_at] + bytes(4) + frame[session_at + 4 :]
    if request.api.key == METADATA and error_code is not None:
        return _answer(request, changed_metadata(request.version, frame[body_at:], error_code))
    return frame


def _refusal(request: Request, error_code: int) -> bytes:
    return _answer(request, error_body(request.api, request.version, _decoded(request), error_code))


def _answer(request: Request, body: bytes) -> bytes:
    return request.correlation_id + b"\0" * request.is_flexible_answer + body


def _request(frame: bytes) -> Request | None:
    """None for what the broker is to refuse: an API that nobody knows, a header that is cut short."""
    if len(frame) < 10:
        return None
    key, version, client_id_size = struct.unpack(">hh4xh", frame[:10])
    api = _APIS.get(key)
    if api is None or not api.has_version(version):
        return None
    body_at = 10 + max(client_id_size, 0)
    if api.is_flexible(version):
        if frame[body_at : body_at + 1] != b"\0":  # no client sends tagged fields in a header
            return None
        body_at += 1
    return Request(frame, api, version, frame[4:8], body_at)


def _decoded(request: Request) -> Any:
    return decode_request(request.api.key, request.version, request.frame[request.body_at :])


def _is_in_session(request: Request) -> bool:
    is_of_fetch = request.api.key == FETCH and request.version >= SESSIONS_FROM
    return is_of_fetch and bool(_decoded(request).session_epoch > 0)


async def _frame(reader: StreamReader) -> bytes:
    """Raises IncompleteReadError at the end."""
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
