"""One ZooKeeper session over kazoo, whose callbacks are handed to the loop in the order in which they came off the
wire.

kazoo runs a thread of its own for the connection. Here nothing waits in it and nothing else runs beside it: results,
watch events and changes of state are passed to the loop from that one thread with ``call_soon_threadsafe``, so the loop
sees them in ZooKeeper's order. kazoo by itself sends what was queued while the connection was lost, forgets watches
then, and begins a new session after an expiry; a gate, closed in its thread before it does anything of that, keeps
requests back until the owner has set its watches again, and for good once the session is over.

The session lives no longer than the loop: the thread pings the ensemble only while the loop ticks. A loop that has not
ticked for a :data:`SILENT_PART` of the session's timeout is in a bug or in work without end; its ephemeral nodes are
deleted at the timeout, and other brokers take over. When the loop runs again its calls are refused, and the broker
registers again.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kazoo.client import KazooClient
from kazoo.exceptions import SessionExpiredError as KazooSessionExpiredError
from kazoo.handlers.threading import AsyncResult, SequentialThreadingHandler
from kazoo.protocol.states import KeeperState

from kafkastore.metadata.store import CONNECTED, EXPIRED, SUSPENDED

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Callable

    from kafkastore.metadata.zookeeper_settings import ZookeeperSettings

logger = logging.getLogger("kafkastore.metadata.zookeeper")
logger.setLevel(logging.ERROR)  # kazoo warns of every attempt to connect; the store's listeners say it once

RETRY = {"max_tries": -1, "delay": 0.1, "backoff": 1.5, "max_delay": 1.0}
"""Between attempts to connect: for ever, at most a second apart, so that an ensemble that is back is found at once."""

MIN_ATTEMPTS = 3
"""Attempts to connect that fit into a session timeout: kazoo gives each an equal part by the number of hosts, and a
server that is just starting may take a connection and never answer on it."""

SILENT_PART = 1 / 3
"""The part of the session's timeout that may pass without a tick of the loop before pings are kept back; also the
longest time between two pings."""

TICKS = 10
"""How often the loop ticks in that time."""

STOP_LIMIT_S = 5.0
"""How long a close waits for the ensemble's answer."""


class RequestNotSentError(Exception):
    """The connection is lost and the request was not sent."""


class Reply:
    """A request's result as kazoo's thread saw it, with the number of the last change at that moment."""

    def __init__(self, value: Any, error: BaseException | None, last_zxid: int) -> None:
        self.value = value
        self.error = error
        self.last_zxid = last_zxid


class ZookeeperClient:
    """See the module. ``on_state(client, state)`` is called on the loop with CONNECTED, SUSPENDED or EXPIRED; after
    CONNECTED the owner calls :meth:`open`."""

    def __init__(
        self,
        settings: ZookeeperSettings,
        loop: asyncio.AbstractEventLoop,
        on_state: Callable[[ZookeeperClient, str], None],
    ) -> None:
        hosts = ",".join([settings.hosts] * -(-MIN_ATTEMPTS // settings.host_count))
        self._loop = loop
        self._on_state = on_state
        self._gate = threading.RLock()  # over the three below, and from a request until its reply is waited for
        self._is_open = False
        self._is_over = False
        self._connections = 0
        self._silence_s = settings.session_timeout_ms / 1000 * SILENT_PART
        self._ticked_at = time.monotonic()
        self._has_kept_back = False
        self._ticking: asyncio.TimerHandle | None = None
        self._kazoo = _Kazoo(
            self._may_ping,
            self._before_change,
            self._after_change,
            hosts=hosts,
            timeout=settings.session_timeout_ms / 1000,
            handler=_Handler(settings.tls, settings.session_timeout_ms / 1000 / (hosts.count(",") + 1), self._gate),
            connection_retry=dict(RETRY),
            auth_data=[("digest", settings.digest)] if settings.digest else None,
            logger=logger,
        )

    # ---- on the loop
    def start(self) -> None:
        self._tick()
        self._kazoo.start_async()

    def _tick(self) -> None:
        """Notes for kazoo's thread that the loop runs. A ping that was kept back is replaced by another request."""
        self._ticked_at = time.monotonic()
        self._ticking = self._loop.call_later(self._silence_s / TICKS, self._tick)
        if self._has_kept_back:
            self._has_kept_back = False
            logger.error("The event loop did not run for longer than %.1f s", self._silence_s)
            with suppress(RequestNotSentError, KazooSessionExpiredError):
                self.submit(lambda kazoo: kazoo.exists_async("/"), lambda _: None)

    @property
    def session_id(self) -> int:
        client_id = self._kazoo.client_id
        return 0 if client_id is None else int(client_id[0])

    @property
    def connections(self) -> int:
        """How often the connection was made: two equal numbers are the same connection."""
        return self._connections

    def open(self, connections: int) -> bool:
        """Lets requests through, unless the connection numbered ``connections`` was lost meanwhile."""
        with self._gate:
            self._is_open = not self._is_over and connections == self._connections and self._kazoo.connected
            return self._is_open

    def submit(
        self, request: Callable[[KazooClient], Any], on_reply: Callable[[Reply], None], *, is_restoring: bool = False
    ) -> None:
        """Sends ``request(kazoo)``; ``on_reply`` is called on the loop, in the order of the wire. Raises AwayError, or
        kazoo's SessionExpiredError, when it was not sent."""
        with self._gate:
            if self._is_over:
                raise KazooSessionExpiredError
            if not (self._is_open or is_restoring):
                raise RequestNotSentError
            request(self._kazoo).rawlink(lambda done: self._pass_on(on_reply, done))

    def stop(self) -> asyncio.Future[None]:
        """Ends the session, in a thread; done when the ensemble has answered or kazoo has given up."""
        done: asyncio.Future[None] = self._loop.create_future()
        if self._ticking is not None:
            self._ticking.cancel()
        with self._gate:
            self._is_over = True
            self._is_open = False

        def run() -> None:
            with suppress(Exception):  # it closes its sockets also when the ensemble does not answer
                self._kazoo.stop()
                self._kazoo.close()
            self.to_loop(lambda: None if done.done() else done.set_result(None))

        threading.Thread(target=run, name="zookeeper-stop", daemon=True).start()
        return done

    # ---- in kazoo's thread
    def _may_ping(self) -> bool:
        is_silent = time.monotonic() - self._ticked_at > self._silence_s
        self._has_kept_back |= is_silent and not self._is_over
        return not is_silent

    def _before_change(self, state: str) -> None:
        if state in (KeeperState.CONNECTED, KeeperState.CONNECTED_RO):
            return
        with self._gate:
            self._is_open = False
            if state != KeeperState.CONNECTING:
                self._is_over = True

    def _after_change(self, state: str) -> None:
        if state == KeeperState.CONNECTING:
            if not self._connections:  # the first attempt: there is nothing to suspend
                return
            session_state = SUSPENDED
        elif state in (KeeperState.CONNECTED, KeeperState.CONNECTED_RO):
            session_state = CONNECTED
            with self._gate:
                self._connections += 1
        else:
            session_state = EXPIRED
        self.to_loop(lambda: self._on_state(self, session_state))

    def _pass_on(self, on_reply: Callable[[Reply], None], done: Any) -> None:
        error = done.exception
        reply = Reply(None if error else done.value, error, self._kazoo.last_zxid)
        self.to_loop(lambda: on_reply(reply))

    def to_loop(self, call: Callable[[], object]) -> None:
        """Has ``call`` run on the loop after all that was handed over before."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(call)


class _Kazoo(KazooClient):
    """kazoo's client, with callbacks before and after each change of its state, and before each ping."""

    def __init__(
        self,
        may_ping: Callable[[], bool],
        before: Callable[[str], None],
        after: Callable[[str], None],
        **options: Any,
    ) -> None:
        self._before = before
        self._after = after
        super().__init__(**options)
        connection: Any = self._connection
        send = connection._send_ping  # noqa: SLF001 - kazoo offers no other way into its thread between two pings
        connection._send_ping = lambda timeout: send(timeout) if may_ping() else None  # noqa: SLF001

    def _session_callback(self, state: str) -> None:
        if state == self._state:
            return
        self._before(state)
        super()._session_callback(state)
        self._after(state)


class _Result(AsyncResult):
    """A result that is not set before its callback is linked: otherwise a watch event behind it would overtake it."""

    def __init__(self, handler: _Handler, gate: threading.RLock) -> None:
        super().__init__(handler)
        self._gate = gate

    def set(self, value: Any = None) -> None:
        with self._gate:
            super().set(value)

    def set_exception(self, exception: BaseException) -> None:
        with self._gate:
            super().set_exception(exception)


class _Handler(SequentialThreadingHandler):
    """No threads of its own: callbacks run where they arise, in the connection's thread."""

    def __init__(self, tls: ssl.SSLContext | None, limit_s: float, gate: threading.RLock) -> None:
        """``limit_s`` is for one attempt to connect."""
        super().__init__()
        self._tls = tls
        self._limit_s = limit_s
        self._gate = gate

    def start(self) -> None:
        """Nothing runs, and kazoo sees that in ``running``: it calls back directly."""

    def stop(self) -> None:
        """As nothing was started."""

    def dispatch_callback(self, callback: Any) -> None:
        callback.func(*callback.args)

    def async_result(self) -> AsyncResult:
        return _Result(self, self._gate)

    def create_connection(self, address: tuple[str, int], hostname: str, **_: Any) -> socket.socket:
        """A server that does not answer must not take the time in which another one could save the session."""
        connection = socket.create_connection(address, self._limit_s)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection if self._tls is None else self._tls.wrap_socket(connection, server_hostname=hostname)
        except BaseException:
            connection.close()
            raise
