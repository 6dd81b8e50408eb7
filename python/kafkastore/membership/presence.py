"""Whether the processes of the other brokers are there: a connection to each, held open and never written to.

A process that dies closes its connections at once, long before its session with the metadata store expires (H1). A
connection that ends is opened again. A broker whose address refuses the connection twice is absent: ``on_absent`` is
called, again and again until the broker is no longer known. Silence, a timeout or no route is no sign of death: then
the session decides, as in Kafka. A live broker that is wrongly taken for dead (a firewall between the two brokers
refuses) is fenced like a broker that lost its session, and registers again. After TELL_LIMIT_S of this ``on_absent`` is
not called again until a connection to the broker is made, so that one link cannot keep a cluster busy for ever.

This module fences no broker itself, and does not look at the store.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from kafkastore.interbroker.dialer import PLAIN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from kafkastore.interbroker.dialer import Connection
    from kafkastore.metadata.image import BrokerImage

    Address = tuple[str, int]
    OnAbsent = Callable[[int], Awaitable[None]]
    Watch = Callable[[str, int, str], Awaitable[Connection]]

logger = logging.getLogger("kafkastore.membership.presence")

REFUSALS = 2
REFUSAL_INTERVAL_S = 0.1
"""A listener that is only being replaced is back by then."""

TELL_LIMIT_S = 5.0
"""How long ``on_absent`` is called; much longer than a controller takes to be replaced and to fence an absent
broker."""

RETRY_S = 1.0
"""Between attempts at a broker that cannot be reached for another reason."""

CLOSED_AT_ONCE_S = 0.1
"""A broker with ``max.connections`` reached ends a connection sooner than this. The end of one that lived longer is
looked into at once: a broker may die soon after it came back."""

CONNECT_TIMEOUT_S = 10.0


class Presence:
    """See the module. Runs on one loop. ``listener`` is the name of the listener for requests between brokers; None
    takes each broker's first listener. ``on_absent(node_id)`` is awaited."""

    def __init__(
        self,
        node_id: int,
        listener: str | None,
        on_absent: OnAbsent,
        watch: Watch = PLAIN.watch,
    ) -> None:
        self._node_id = node_id
        self._listener = listener
        self._on_absent = on_absent
        self._open = watch
        self._watched: dict[int, tuple[Address, asyncio.Task[None]]] = {}
        self._first_told: dict[int, float] = {}  # since the last connection, also of brokers that are no longer watched

    def update(self, brokers: Iterable[BrokerImage]) -> None:
        """Watches these brokers, this one excepted, and no others."""
        wanted = {one.node_id: address for one in brokers if (address := self._address(one)) is not None}
        wanted.pop(self._node_id, None)
        for node_id in [one for one, (address, _) in self._watched.items() if wanted.get(one) != address]:
            self._watched.pop(node_id)[1].cancel()
        for node_id, address in wanted.items():
            if node_id not in self._watched:
                task = asyncio.get_running_loop().create_task(self._watch(node_id, *address))
                self._watched[node_id] = (address, task)

    async def stop(self) -> None:
        tasks = [task for _, task in self._watched.values()]
        self._watched.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _address(self, broker: BrokerImage) -> Address | None:
        for listener, host, port in broker.listeners:
            if self._listener in (None, listener):
                return host, port
        return None

    async def _watch(self, node_id: int, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        refused = closed = 0
        while True:
            try:
                async with asyncio.timeout(CONNECT_TIMEOUT_S):
                    connection = await self._open(host, port, f"broker-{self._node_id}-presence")
            except ConnectionRefusedError:
                refused += 1
                if refused >= REFUSALS:
                    await self._tell(node_id)
                await asyncio.sleep(REFUSAL_INTERVAL_S)
            except (OSError, TimeoutError):  # says nothing of the process
                refused = 0
                await asyncio.sleep(RETRY_S)
            else:
                refused = 0
                self._first_told.pop(node_id, None)
                opened = loop.time()
                try:
                    await connection.until_closed()
                finally:
                    connection.close()
                closed = closed + 1 if loop.time() - opened < CLOSED_AT_ONCE_S else 0
                if closed > 1:  # the broker lives and takes no more connections (max.connections)
                    await asyncio.sleep(RETRY_S)

    async def _tell(self, node_id: int) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._first_told.setdefault(node_id, now) > TELL_LIMIT_S:
            return
        try:
            await self._on_absent(node_id)
        except Exception:  # a bug must not end the watching
            logger.exception("Telling that broker %d is absent failed", node_id)
