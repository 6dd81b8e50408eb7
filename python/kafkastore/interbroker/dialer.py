"""Opens connections to brokers, and waits for them on the loop.

TLS, the proof of who this process is and the frames are the data plane's (``rust/client``), whose connection never
waits; this module calls it again when its socket is ready. Nothing is sent before the proof. While the secret of the
brokers is not required, a broker that does not know it is connected to without a proof. Never: repeats anything, keeps
a connection.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from kafkastore._core import BrokerConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore._core import BrokerLogin, BrokerTls
    from kafkastore.messages import OutgoingRequest

T = TypeVar("T")

LAST_PORT: Final = 65_535


class Dialer(NamedTuple):
    """See the module. None for a listener without TLS, and for brokers with nothing to prove."""

    tls: BrokerTls | None = None
    login: BrokerLogin | None = None

    async def open(self, host: str, port: int, client_id: str) -> Connection:
        """A connection over which requests may be sent. Raises OSError; PermissionError for a failed proof."""
        return await _open(host, port, client_id, self)

    async def watch(self, host: str, port: int, client_id: str) -> Connection:
        """A connection that only shows whether the other broker is there. Where brokers are no users of SASL and have
        no TLS, no proof is needed for that. Raises OSError."""
        needs_no_proof = self.tls is None and (self.login is None or self.login.is_secret)
        return await _open(host, port, client_id, Dialer() if needs_no_proof else self)


PLAIN: Final = Dialer()


class Connection:
    """See the module. One request at a time; after an error or a cancellation it is to be closed."""

    def __init__(self, link: BrokerConnection) -> None:
        self._link = link
        self.close = link.close

    @property
    def is_usable(self) -> bool:
        """Whether the next request may be sent: the broker has not closed it, and its session does not end soon."""
        return self._link.is_usable

    async def ask(self, request: OutgoingRequest) -> bytes:
        """The answer behind its correlation id. Raises ConnectionError."""
        self._link.send(request.api_key, request.version, request.is_flexible, request.body())
        return await _until(self._link, self._link.receive)

    async def until_closed(self) -> None:
        """Returns when the broker closes the connection, over which nothing may be sent."""
        with suppress(OSError):
            await _until(self._link, self._link.receive)


async def _open(host: str, port: int, client_id: str, dialer: Dialer) -> Connection:
    if not 0 < port <= LAST_PORT:  # as a broker says it in Metadata
        raise OSError(f"there is no port {port}")
    try:  # a number waits for no name server
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except UnicodeError:
        raise OSError("its host can be no name of a host") from None
    except socket.gaierror:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [(str(address[0]), port) for *_, address in found]
    link = BrokerConnection(host, addresses, client_id, dialer.tls, dialer.login)
    try:
        await _until(link, link.open)
    except BaseException:
        link.close()
        raise
    return Connection(link)


async def _until(link: BrokerConnection, step: Callable[[], T | None]) -> T:
    """What ``step`` returns at last: it is called whenever the socket is ready."""
    loop = asyncio.get_running_loop()
    while (found := step()) is None:
        ready, descriptor = loop.create_future(), link.fileno()
        add, remove = (
            (loop.add_writer, loop.remove_writer) if link.wants_to_write else (loop.add_reader, loop.remove_reader)
        )
        add(descriptor, _settle, ready)
        try:
            await ready
        finally:
            remove(descriptor)
    return found


def _settle(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
