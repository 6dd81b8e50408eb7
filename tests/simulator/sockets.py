"""Connections that are held open and carry nothing: what ``membership/presence.py`` tells a death by.

A connection is made by the machine at the other end, whatever its process does: one that is stopped accepts it, one
that has died refuses it, a machine without power and a cut link say nothing, and it is tried again until who asks gives
up. When a process dies its machine closes its connections; the word of that is repeated until the link carries it. A
machine that lost its power closes none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from simulator.network import in_world
from simulator.virtual_loop import current_process

if TYPE_CHECKING:
    from simulator.node import Node
    from simulator.world import World

AGAIN_S = 0.2
"""Until the machine tries again what the link has not carried."""


class Connection:
    """One that is open, as who opened it has it: ``interbroker/dialer.py``'s, as far as it is used."""

    def __init__(self, world: World, opener: str, other: str) -> None:
        self.world = world
        self.opener = opener
        self.other = other
        self._is_closed = asyncio.Event()
        self._is_given_up = False

    async def until_closed(self) -> None:
        await self._is_closed.wait()

    def close(self) -> None:
        """By either end."""
        if not self._is_closed.is_set() and not self._is_given_up:
            in_world(asyncio.get_running_loop().call_later, self.world.network.delay(), self._arrive)

    def _arrive(self) -> None:
        if self.world.is_over:
            return
        if self.world.network.passes(self.other, self.opener):
            self._is_closed.set()
        else:
            in_world(asyncio.get_running_loop().call_later, AGAIN_S, self._arrive)


async def watch(world: World, _: object, host: str, *__: object) -> Any:
    """In place of ``Dialer.watch``. Raises ConnectionRefusedError; never ends while nothing is heard."""
    opener, node = current_process(), world.nodes[int(host.rpartition("-")[2])]
    while True:
        await asyncio.sleep(2 * world.network.delay())
        if _hear_each_other(world, opener, node):
            break
        await asyncio.sleep(AGAIN_S)
    if node.life is None or not node.life.is_listening:
        raise ConnectionRefusedError(host)
    connection = Connection(world, opener, node.name)
    node.life.connections.append(connection)
    return connection


def _hear_each_other(world: World, opener: str, node: Node) -> bool:
    passes = world.network.passes
    return node.has_power and passes(opener, node.name) and passes(node.name, opener)
