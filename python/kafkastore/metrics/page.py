"""The page ``/metrics`` over HTTP: one thread with a loop of its own, so that no scraper holds the loop of the broker.

Invariants: at most :data:`MAX_CONNECTIONS` connections are open, a further one is closed at once; each connection ends
within :data:`HEAD_LIMIT_S` and :data:`SEND_LIMIT_S` whatever its client does; one request at a time makes the page, and
requests that come meanwhile, or within :data:`FRESH_S`, get the same bytes. Never: decides what is on the page
(``make_page`` does), or calls into the broker's loop by itself.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kafkastore.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("kafkastore.metrics")

MAX_CONNECTIONS: Final = 8
HEAD_BYTES: Final = 8 * 1024
"""The most bytes of a request's line and headers."""
HEAD_LIMIT_S: Final = 5.0
SEND_LIMIT_S: Final = 10.0
FRESH_S: Final = 1.0
CHUNK_BYTES: Final = 64 * 1024
"""The bytes written at a time: the most that a slow client makes the process buffer."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class MetricsPage:
    """See the module. Made, started and stopped by the broker's thread."""

    def __init__(self, host: str, port: int, make_page: Callable[[], bytes]) -> None:
        self._make_page = make_page
        self._sockets = _bound(host, port)
        self._loop = asyncio.new_event_loop()
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="metrics-page")
        self._open = 0
        self._page: bytes | None = None
        self._made_at = 0.0
        self._making: asyncio.Future[bytes] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_over = asyncio.Event()
        self.port: int = self._sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends connections and the thread. Does not wait for a page that is being made, which may wait for the broker's
        loop itself."""
        if self._thread.ident is None:
            for one in self._sockets:
                one.close()
            self._loop.close()
        else:
            with suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._is_over.set)
            self._thread.join(SEND_LIMIT_S)
        self._maker.shutdown(wait=False, cancel_futures=True)

    # ---- on the thread
    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve_until_over())
        finally:
            self._loop.close()

    async def _serve_until_over(self) -> None:
        servers = [await asyncio.start_server(self._admit, sock=one, limit=HEAD_BYTES) for one in self._sockets]
        await self._is_over.wait()
        for server in servers:
            server.close()
        ending: list[asyncio.Future[Any]] = [*self._tasks, *([] if self._making is None else [self._making])]
        for one in ending:
            one.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await asyncio.sleep(0)  # sockets are closed in the pass after the one that ends them

    def _admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves the connection; when too many are open, closes its socket before reading from it."""
        if self._open >= MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._open += 1
        task = self._loop.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(HEAD_LIMIT_S):
                head = await reader.readuntil(b"\r\n\r\n")
            status, kind, body = await self._answer(head)
            text = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            sent = b"" if head.startswith(b"HEAD ") else body
            async with asyncio.timeout(SEND_LIMIT_S):
                await _send(writer, text.encode(), sent)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.transport.abort()
        except asyncio.CancelledError:
            writer.transport.abort()
            raise
        else:
            writer.close()
        finally:
            self._open -= 1

    async def _answer(self, head: bytes) -> tuple[str, str, bytes]:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        plain = "text/plain; charset=utf-8"
        if method not in (b"GET", b"HEAD"):
            return "405 Method Not Allowed", plain, b"GET /metrics\n"
        if path != b"/metrics":
            return "404 Not Found", plain, b"the metrics are at /metrics\n"
        try:
            return "200 OK", CONTENT_TYPE, await self._fresh_page()
        except (TimeoutError, CancelledError):
            return "503 Service Unavailable", plain, b"the broker is busy or stops; ask again\n"
        except Exception:  # a bug must not end the page
            logger.exception("The metrics could not be collected")
            return "503 Service Unavailable", plain, b"the metrics could not be collected; the broker's log says why\n"

    async def _fresh_page(self) -> bytes:
        """The page, made now, or by another request that runs or ended less than FRESH_S ago."""
        if self._making is None:
            if self._page is not None and self._loop.time() - self._made_at < FRESH_S:
                return self._page
            self._making = asyncio.ensure_future(self._make())
            self._making.add_done_callback(self._forget_making)
        return await asyncio.shield(self._making)

    def _forget_making(self, made: asyncio.Future[bytes]) -> None:
        self._making = None
        if not made.cancelled():
            made.exception()  # the requests that wait get it; retrieved here in case none is left

    async def _make(self) -> bytes:
        page = await self._loop.run_in_executor(self._maker, self._make_page)
        self._page, self._made_at = page, self._loop.time()
        return page


async def _send(writer: asyncio.StreamWriter, head: bytes, data: bytes) -> None:
    writer.write(head)
    for at in range(0, len(data), CHUNK_BYTES):
        writer.write(data[at : at + CHUNK_BYTES])
        await writer.drain()


def _bound(host: str, port: int) -> list[socket.socket]:
    """One socket for each address of the host. Raises StartupError."""
    bound: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, address in dict.fromkeys((one[0], one[4]) for one in found):
            wanted = (address[0], bound[0].getsockname()[1] if bound and not port else port, *address[2:])
            bound.append(socket.create_server(wanted, family=family, backlog=MAX_CONNECTIONS, dualstack_ipv6=False))
    except OSError as error:
        for one in bound:
            one.close()
        message = f"kafkastore.metrics.listener={host}:{port}: {error.strerror or error}; give an address that is free"
        raise StartupError(message) from None
    return bound
