"""Faults that a test orders of one broker: ``broker.faults``.

Requests: ``answer``, ``delay`` and ``lose`` are carried out by a proxy at the broker's port (``proxy.py``), which the
first order brings there. Connections: ``drop_connections``. Disks: ``disk`` (``disks.py``). An order lasts until it has
happened so often as it says, its block ends, ``clear`` is called or the broker is closed; also over a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import ConfigError, ErrorCode
from kafkastore.testing.orders import Order, Orders

if TYPE_CHECKING:
    from kafkastore.testing.node import Node
    from kafkastore.testing.proxy import Proxy


class Faults:
    """Faults that a test orders of a broker: ``broker.faults``. Its methods return when the order is in force. They
    raise ConfigError for what there is not, and NotRunningError."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._orders = Orders()
        self._proxy: Proxy | None = None
        self.has_failed_disk = False

    # ---- requests
    def answer(self, api: str, error: str | int, times: int | None = None) -> Order:
        """Requests of this API (``"Produce"``) are not carried out, and answered with the error
        (``"NOT_LEADER_OR_FOLLOWER"``, or its code) in every part."""
        order = self._orders.add([_key(api)], times, error_code=_code(error))
        self._insert()
        return order

    def delay(self, api: str | tuple[str, ...], ms: float, times: int | None = None) -> Order:
        """Requests of this API, or of these, wait before they are carried out, those behind them on the same
        connection, too."""
        order = self._orders.add([_key(one) for one in ((api,) if isinstance(api, str) else api)], times, delay_ms=ms)
        self._insert()
        return order

    def lose(self, api: str, times: int | None = None) -> Order:
        """Requests of this API are carried out, and their connection is cut instead of an answer: the client cannot
        know."""
        order = self._orders.add([_key(api)], times, is_lost=True)
        self._insert()
        return order

    # ---- connections
    def drop_connections(self) -> int:
        """Cuts the connections of clients, as a network does. Returns how many there were."""
        from kafkastore.testing import sockets

        server = self._node.server
        names = [listener.name for listener in server.config.listeners]
        own = self._node.settings.clients
        return sockets.cut([port for name, port in zip(names, server.ports, strict=True) if name == own])

    # ---- disks
    def disk(self, *, slow: float = 0, full: bool = False, failing: bool = False) -> Order | None:
        """``full`` or ``failing``: the next write to a log fails, which takes its directory offline until the next
        start; a broker that is alone ends (``is_running``). ``slow``: what reaches the disk (Produce and Fetch) waits
        so many milliseconds; returns the order of it."""
        if full or failing:
            from kafkastore.testing import disks

            if not disks.refuse_writes(self._node.directory):
                raise ConfigError("faults: no log file is open, so no write can fail; produce a record before")
            self.has_failed_disk = True
        return self.delay(("Produce", "Fetch"), slow) if slow else None

    def clear(self) -> None:
        """Ends every order."""
        self._orders.clear()

    # ---- of the node
    def begin(self) -> None:
        """The broker has started."""
        self.has_failed_disk = False
        if self._orders:
            self._insert()

    def end(self) -> None:
        """The broker ends, and its proxy with the loop."""
        self._proxy = None

    def _insert(self) -> None:
        node = self._node
        server = node.server
        if self._proxy is not None:
            return
        if not node.settings.has_faults:
            self._orders.clear()
            raise ConfigError(
                "faults of requests cannot be ordered with client_certificates=True: a proxy has none of the clients' "
                "certificates; leave it out"
            )
        from kafkastore.testing.proxy import Proxy

        settings, ports = node.settings, server.ports
        pem = settings.certificates / "broker.pem" if settings.security.has_tls else None
        self._proxy = Proxy(self._orders, ports[0], (settings.host, ports[1]), pem)
        node.at_end(self._proxy.close)
        node.call(self._proxy.take_over())
        node.call(server.member.announce([ports[0], ports[0], *ports[2:]]))


def _key(api: str) -> int:
    from kafkastore.requests.registry import BY_NAME

    found = BY_NAME.get(api)
    if found is None or found.is_inter_broker:
        raise ConfigError(f"faults: {api} is no API of clients; give one of Kafka's names, as in Produce or JoinGroup")
    return found.key


def _code(error: str | int) -> int:
    if isinstance(error, int):
        return error
    found = getattr(ErrorCode, error, None)
    if not isinstance(found, int):
        raise ConfigError(f"faults: {error} is no error of Kafka; give a name as NOT_LEADER_OR_FOLLOWER, or its code")
    return found
