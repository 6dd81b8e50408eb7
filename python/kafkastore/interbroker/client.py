"""The client of one broker, for requests from broker to broker: one connection, one request at a time, in order.

A request goes out whole, then its answer is awaited; a second caller waits its turn. Any failure of a request (a
timeout, a closed connection, a malformed answer) closes the connection, since the next bytes on it could be the late
answer to that request. The next request opens another connection, not before a delay that doubles while no connection
can be opened.

A connection is opened by a :class:`~kafkastore.interbroker.dialer.Dialer`, which proves to both ends that the other is
a broker before anything else is sent. One whose session will end is replaced before it does.

An answer is trusted no more than a client's request: the frame is bounded, and the body is checked against the shape of
its schema before kio reads it. The client never repeats a request: it cannot know whether the broker did what was
asked.
"""

from __future__ import annotations

import asyncio
import io
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore._core import register_shape, sanitize
from kafkastore.interbroker.dialer import Dialer
from kafkastore.interbroker.unreachable import BrokerNotReachedError, BrokerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.interbroker.dialer import Connection

MAX_FRAME_BYTES = 64 << 20
"""The largest answer taken: LeaderAndIsr answers some 8 bytes a partition."""

FIRST_BACKOFF_S = 0.05
LAST_BACKOFF_S = 1.0
"""Kafka's reconnect.backoff.ms and reconnect.backoff.max.ms."""


class _Codec(NamedTuple):
    write_request: Callable[[io.BytesIO, Any], None]
    write_header: Callable[[io.BytesIO, Any], None]
    read_response: Callable[[bytes, int], tuple[Any, int]]
    is_response_header_flexible: bool


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

    async def send(self, request: Any, timeout_ms: int) -> Any:
        """The answer to a request of kio's style. ``timeout_ms`` counts from the request's turn, and includes opening a
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
    async def _exchange(self, request: Any) -> Any:
        connection = self._living_connection() or await self._connect()
        self._has_sent = True  # the frames of a proof are not the caller's
        codec = _codec_of(type(request))
        reader, writer, _ = connection
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        writer.write(_frame(codec, request, self._correlation_id, self.client_id))
        await writer.drain()
        size = int.from_bytes(await reader.readexactly(4), signed=True)
        if not 4 <= size <= self._max_frame_bytes:
            speaks_tls = 20 <= size >> 24 <= 23 and size >> 16 & 0xFF == 3
            raise self._malformed("TLS: set security.protocol" if speaks_tls else f"a frame of {size} bytes")
        return self._read(codec, request, await reader.readexactly(size))

    def _read(self, codec: _Codec, request: Any, frame: bytes) -> Any:
        correlation_id = int.from_bytes(frame[:4], signed=True)
        if correlation_id != self._correlation_id:
            raise self._malformed(f"correlation id {correlation_id} instead of {self._correlation_id}")
        body = 4
        if codec.is_response_header_flexible:
            if frame[4:5] != b"\0":  # no broker sends tagged fields in a header
                raise self._malformed("tagged fields in the header")
            body = 5
        request_class = type(request)
        try:
            checked = sanitize(-1 - request_class.__api_key__, request_class.__version__, frame[body:])
            return codec.read_response(checked, 0)[0]
        except (ValueError, OverflowError) as error:
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


_codecs: dict[type[Any], _Codec] = {}


def _codec_of(request_class: type[Any]) -> _Codec:
    codec = _codecs.get(request_class)
    if codec is None:
        codec = _codecs[request_class] = _make_codec(request_class)
    return codec


def _make_codec(request_class: type[Any]) -> _Codec:
    from kafkastore.interbroker import shapes
    from kafkastore.interbroker.codec import entity_reader, entity_writer

    response_class = response_class_of(request_class)
    register_shape(-1 - request_class.__api_key__, request_class.__version__, shapes.program_for(response_class))
    return _Codec(
        entity_writer(request_class),
        entity_writer(request_class.__header_schema__),
        entity_reader(response_class),
        response_class.__header_schema__.__flexible__,
    )


def response_class_of(request_class: type[Any]) -> type[Any]:
    """The class of the answer: it stands beside the request's, in ``response``."""
    module = import_module(request_class.__module__.removesuffix("request") + "response")
    found: type[Any] = getattr(module, request_class.__name__.removesuffix("Request") + "Response")
    return found


def _frame(codec: _Codec, request: Any, correlation_id: int, client_id: str) -> bytes:
    """size | header | body"""
    buffer = io.BytesIO(bytes(4))
    buffer.seek(4)
    header = type(request).__header_schema__(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    codec.write_header(buffer, header)
    codec.write_request(buffer, request)
    size = buffer.tell() - 4
    buffer.seek(0)
    buffer.write(size.to_bytes(4))
    return buffer.getvalue()
