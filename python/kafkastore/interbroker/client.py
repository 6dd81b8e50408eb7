"""The client of one broker, for requests from broker to broker: one connection, one request at a time, in order.

A request goes out whole, then its answer is awaited; a second caller waits its turn. Any failure of a request (a
timeout, a closed connection, a malformed answer) closes the connection, since the next bytes on it could be the late
answer to that request. The next request opens another connection, not before a delay that doubles while no connection
can be opened.

A connection is opened by a :class:`~kafkastore.interbroker.dialer.Dialer`, which proves to both ends that the other is
a broker before anything else is sent. One whose session will end is replaced before it does.

An answer is trusted no more than a client's request: the frame is bounded, and so is what its body is read to. The
client never repeats a request: it cannot know whether the broker did what was
asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.dialer import Dialer
from kafkastore.interbroker.unreachable import BrokerNotReachedError, BrokerUnreachableError

if TYPE_CHECKING:
    from kafkastore.interbroker.dialer import Connection
    from kafkastore.messages import OutgoingRequest

MAX_FRAME_BYTES = 64 << 20
"""The largest answer taken: LeaderAndIsr answers some 8 bytes a partition."""

FIRST_BACKOFF_S = 0.05
LAST_BACKOFF_S = 1.0
"""Kafka's reconnect.backoff.ms and reconnect.backoff.max.ms."""


class BrokerClient:
    """See the module. Runs on one loop; its methods need a task."""

    def __init__(
        self,
        host: str,
        port: int,
        client_id: str,
        *,
        dialer: Dialer | None = None,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self.host = host
        self.port = port
        self.client_id = client_id
        self._dialer = dialer or Dialer()
        self._max_frame_bytes = max_frame_bytes
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
        self._correlation_id = 0
        self._backoff_s = 0.0
        self._not_before = 0.0
        self._is_closed = False
        self._has_sent = False

    async def send(self, request: OutgoingRequest, timeout_ms: int) -> Any:
        """The answer to a request. ``timeout_ms`` counts from the request's turn, and includes opening a
        connection. Raises BrokerUnreachableError, as BrokerNotReachedError when nothing was sent."""
        async with self._turn:
            self._has_sent = False
            if self._is_closed:
                raise BrokerNotReachedError(f"{self.host}:{self.port}: the client is closed")
            try:
                async with asyncio.timeout(timeout_ms / 1000):
                    return await self._exchange(request)
            except BrokerUnreachableError as error:
                self._disconnect()
                if self._has_sent:
                    raise
                raise BrokerNotReachedError(error.client_message) from None
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                self._disconnect()
                reason = str(error) or type(error).__name__
                kind = BrokerUnreachableError if self._has_sent else BrokerNotReachedError
                raise kind(f"{self.host}:{self.port}: {reason}") from None
            except BaseException:  # cancelled: the answer may still come
                self._disconnect()
                raise

    async def close(self) -> None:
        """Ends the connection; a request that waits for its answer fails."""
        self._is_closed = True
        self._disconnect()

    # ---- inside
    async def _exchange(self, request: OutgoingRequest) -> Any:
        connection = self._living_connection() or await self._connect()
        self._has_sent = True  # the frames of a proof are not the caller's
        reader, writer, _ = connection
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        writer.write(_frame(request, self._correlation_id, self.client_id))
        await writer.drain()
        size = int.from_bytes(await reader.readexactly(4), signed=True)
        if not 4 <= size <= self._max_frame_bytes:
            speaks_tls = 20 <= size >> 24 <= 23 and size >> 16 & 0xFF == 3
            raise self._malformed("TLS: set security.protocol" if speaks_tls else f"a frame of {size} bytes")
        return self._read(request, await reader.readexactly(size))

    def _read(self, request: OutgoingRequest, frame: bytes) -> Any:
        correlation_id = int.from_bytes(frame[:4], signed=True)
        if correlation_id != self._correlation_id:
            raise self._malformed(f"correlation id {correlation_id} instead of {self._correlation_id}")
        body = 4
        if request.is_flexible and request.api != "ApiVersions":
            if frame[4:5] != b"\0":  # no broker sends tagged fields in a header
                raise self._malformed("tagged fields in the header")
            body = 5
        try:
            return request.response(frame[body:])
        except ValueError as error:
            raise self._malformed(str(error)) from None

    def _living_connection(self) -> Connection | None:
        """The connection, unless the other broker has closed it, or its session ends: it would not read a request."""
        if self._connection is not None:
            reader, writer, ends = self._connection
            is_over = ends is not None and asyncio.get_running_loop().time() >= ends
            if is_over or reader.at_eof() or reader.exception() is not None or writer.is_closing():
                self._disconnect()
        return self._connection

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        if (wait_s := self._not_before - loop.time()) > 0:
            await asyncio.sleep(wait_s)
        self._backoff_s = min(max(self._backoff_s * 2, FIRST_BACKOFF_S), LAST_BACKOFF_S)
        self._not_before = loop.time() + self._backoff_s
        connection = self._connection = await self._dialer.open(self.host, self.port, self.client_id)
        self._backoff_s = 0.0
        return connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.writer.close()

    def _malformed(self, what: str) -> BrokerUnreachableError:
        return BrokerUnreachableError(f"{self.host}:{self.port} answered with {what}")


def _frame(request: OutgoingRequest, correlation_id: int, client_id: str) -> bytes:
    """size | header | body"""
    client = client_id.encode()
    parts = (
        request.api_key.to_bytes(2, signed=True),
        request.version.to_bytes(2, signed=True),
        correlation_id.to_bytes(4, signed=True),
        len(client).to_bytes(2, signed=True),
        client,
        b"\0" if request.is_flexible else b"",  # no tagged fields
        request.body(),
    )
    return b"".join((sum(map(len, parts)).to_bytes(4), *parts))
