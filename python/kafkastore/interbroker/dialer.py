"""Opens connections to other brokers: TLS where the brokers' listener has it, then the proof that both ends are
brokers.

Nothing else is sent before the proof. While the secret of the brokers is not required, a broker that does not know it
is connected to without a proof. The proof and TLS themselves are the data plane's (``rust/client/login.rs``,
``rust/client/tls/outgoing.rs``); this module carries their bytes. Never: repeats anything, keeps a connection.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore._core import BrokerLogin, BrokerTls

    Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
    Open = Callable[[str, int], Awaitable[Streams]]

SESSION_PART: Final = 0.9
"""The part of a session after which its connection is replaced; Kafka's clients take between 0.85 and 0.95."""


class Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ends: float | None
    """The time of the loop at which another connection is to be opened; None is never."""


class Dialer:
    """See the module. ``tls`` and ``login``: None for a listener without TLS, for brokers with nothing to prove."""

    def __init__(
        self,
        tls: BrokerTls | None = None,
        login: BrokerLogin | None = None,
        open_connection: Open = asyncio.open_connection,
    ) -> None:
        self.tls = tls
        self.login = login
        self._open_connection = open_connection

    async def open(self, host: str, port: int, client_id: str) -> Connection:
        """A connection over which requests may be sent. Raises OSError and IncompleteReadError; PermissionError for a
        failed proof."""
        login = self.login
        if login is None:
            return Connection(*await self._dial(host, port), None)
        reader, writer = await self._dial(host, port)
        try:
            lifetime_ms = await _prove(login, reader, writer, client_id)
        except BaseException:
            writer.close()
            raise
        if lifetime_ms is None:
            writer.close()
            return Connection(*await self._dial(host, port), None)
        ends = asyncio.get_running_loop().time() + SESSION_PART * lifetime_ms / 1000
        return Connection(reader, writer, ends if lifetime_ms else None)

    def watching(self, client_id: str) -> Open:
        """Opens connections that only show whether the other broker is there. Where brokers are no users of SASL and
        have no TLS, no proof is needed for that. The returned function raises OSError."""
        if self.tls is None and (self.login is None or self.login.is_secret):
            return self._open_connection

        async def open_proven(host: str, port: int) -> Streams:
            try:
                connection = await self.open(host, port, client_id)
            except asyncio.IncompleteReadError as error:
                raise ConnectionError(str(error)) from None
            return connection.reader, connection.writer

        return open_proven

    async def _dial(self, host: str, port: int) -> Streams:
        if self.tls is None:
            return await self._open_connection(host, port)
        from kafkastore.interbroker.tls_streams import open_streams

        return await open_streams(self.tls, host, port)


async def _prove(
    login: BrokerLogin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str
) -> int | None:
    """The milliseconds after which the session ends, 0 for never; None when the other broker knows no proof and needs
    none yet."""
    exchange, first = login.begin(client_id)
    frame: bytes | None = first
    lifetime_ms = 0
    try:
        while frame is not None:
            writer.write(frame)
            await writer.drain()
            size = int.from_bytes(await reader.readexactly(4), signed=True)
            if not 0 <= size <= exchange.MAX_ANSWER_BYTES:
                raise PermissionError(f"it answered the proof with a frame of {size} bytes")
            frame, lifetime_ms = exchange.take(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, OSError) as error:  # how a broker says that it does not know the request
        if exchange.is_at_handshake and not login.is_required:
            return None
        if exchange.is_at_handshake and not isinstance(error, PermissionError):
            raise PermissionError(
                "it does not take the proof that this is a broker (it closed the connection)"
            ) from None
        raise
    return lifetime_ms
