"""The client of one broker, for requests from broker to broker: one connection, one request at a time, in order.

A request goes out whole, then its answer is awaited; a second caller waits its turn. Any failure of a request (a
timeout, a closed connection, a malformed answer) closes the connection, since the next bytes on it could be the late
answer to that request. The next request opens another connection, not before a delay that doubles while no connection
can be opened.

A connection is opened by a :class:`~kafkastore.interbroker.dialer.Dialer`, which proves to both ends that the other is
a broker before anything else is sent. One whose session will end is replaced before it does.

An answer is trusted no more than a client's request: the frame is bounded, and so is what its body is read to. The
client never repeats a request: it cannot know whether the broker did what was asked.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.dialer import PLAIN
from kafkastore.interbroker.unreachable import BrokerNotReachedError, BrokerUnreachableError

if TYPE_CHECKING:
    from kafkastore.interbroker.dialer import Connection, Dialer
    from kafkastore.messages import OutgoingRequest

FIRST_BACKOFF_S = 0.05
LAST_BACKOFF_S = 1.0
"""Kafka's reconnect.backoff.ms and reconnect.backoff.max.ms."""


class BrokerClient:
    """See the module. Runs on one loop; its methods need a task."""

    def __init__(self, host: str, port: int, client_id: str, *, dialer: Dialer = PLAIN) -> None:
        self.host = host
        self.port = port
        self.client_id = client_id
        self._dialer = dialer
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()
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
            except BrokerUnreachableError:
                self._disconnect()
                raise
            except OSError as error:
                self._disconnect()
                reason = str(error) or "no answer in time"
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
        if self._connection is not None and not self._connection.is_usable:
            self._disconnect()
        connection = self._connection or await self._connect()
        self._has_sent = True  # the frames of a proof are not the caller's
        answer = await connection.ask(request)
        has_tags = request.is_flexible and request.api != "ApiVersions"
        if has_tags and answer[:1] != b"\0":  # no broker sends tagged fields in a header
            raise self._malformed("tagged fields in the header")
        try:
            return request.response(answer[has_tags:])
        except ValueError as error:
            raise self._malformed(str(error)) from None

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
            connection.close()

    def _malformed(self, what: str) -> BrokerUnreachableError:
        return BrokerUnreachableError(f"{self.host}:{self.port} answered with {what}")
