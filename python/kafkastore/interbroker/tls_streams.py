"""asyncio's streams over TLS to another broker. The data plane's TLS does the work (``rust/client/tls/outgoing.rs``),
so that both planes take and refuse the same certificates, and a broker needs no OpenSSL.

::

    StreamWriter ─▶ _Transport ─▶ TlsLink ─▶ socket
    StreamReader ◀─ _Protocol  ◀─ TlsLink ◀─ socket

Never: knows what the bytes mean.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkastore._core import BrokerTls, TlsLink


async def open_streams(tls: BrokerTls, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects and makes the handshake. Raises OSError; ConnectionError for a certificate that is refused."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = _Protocol(tls.begin(host), reader, loop)
    transport, _ = await loop.create_connection(lambda: protocol, host, port)
    try:
        await protocol.shaken
    except BaseException:
        transport.close()
        raise
    return reader, asyncio.StreamWriter(protocol.secured, protocol, reader, loop)


class _Transport(asyncio.Transport):
    """Encrypts what is written."""

    def __init__(self, link: TlsLink, socket: asyncio.Transport) -> None:
        super().__init__()
        self._link = link
        self._socket = socket

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._link.send(bytes(data))
        self.send_records()

    def send_records(self) -> None:
        """Sends what TLS has to say."""
        if records := self._link.take():
            self._socket.write(records)

    def close(self) -> None:
        if not self._socket.is_closing():
            self._link.close()
            self.send_records()
            self._socket.close()

    def abort(self) -> None:
        self._socket.abort()

    def is_closing(self) -> bool:
        return self._socket.is_closing()

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket.get_extra_info(name, default)


class _Protocol(asyncio.StreamReaderProtocol):
    """Decrypts what arrives."""

    secured: _Transport

    def __init__(self, link: TlsLink, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(reader, loop=loop)
        self._link = link
        self.shaken: asyncio.Future[None] = loop.create_future()
        """Ends with the handshake."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.secured = _Transport(self._link, transport)
        super().connection_made(self.secured)
        self.secured.send_records()

    def data_received(self, data: bytes) -> None:
        try:
            plain, is_ended = self._link.receive(data)
        except ConnectionError as error:
            self.secured.send_records()
            self._fail(error)
            self.secured.abort()
            return
        self.secured.send_records()
        if plain:
            super().data_received(plain)
        if self._link.is_shaken and not self.shaken.done():
            self.shaken.set_result(None)
        if is_ended and not self.eof_received():
            self.secured.close()

    def eof_received(self) -> bool:
        """The socket is closed at once: TLS has no half-open connections."""
        self._fail(ConnectionResetError("it closed the connection during the handshake of TLS"))
        super().eof_received()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(exc or ConnectionResetError("it closed the connection during the handshake of TLS"))
        super().connection_lost(exc)

    def _fail(self, error: Exception) -> None:
        if not self.shaken.done():
            self.shaken.set_exception(error)
