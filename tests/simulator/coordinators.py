"""How clients of a simulation find the coordinator of a group or of a transactional id, and ask it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from simulator import transaction_wire as wire
from simulator.clients import PAUSE_S
from simulator.network import Lost
from simulator.node import server_of

if TYPE_CHECKING:
    from random import Random

    from simulator.world import World

LIMIT_S = 3.0
"""How long a client waits for the coordinator, which answers within 2 s."""

LOAD_IN_PROGRESS, NOT_AVAILABLE, NOT_COORDINATOR = 14, 15, 16


class Over(Exception):  # noqa: N818 - it is no error
    """The run has ended."""


class Coordinator:
    """The coordinator of one key, as one client knows it: the client asks any broker for it, and asks again after an
    answer that another broker coordinates the key, or after none."""

    def __init__(self, world: World, client: str, key: str, kind: int, random: Random) -> None:
        self.world = world
        self.client = client
        self.random = random
        self.node_id = 0
        self._find_request = wire.find_coordinator_request(key, kind)

    async def ask(self, api_key: int, version: int, body: bytes, *, lateness: float = 1.0) -> Any:
        """None when there is no answer. ``lateness``: see ``Network.ask``. Raises :class:`Over`."""
        if self.world.is_over:
            raise Over
        if not self.node_id:
            await self._find()
        if not self.node_id:
            return None
        answer = await self._ask(self.node_id, api_key, version, body, lateness=lateness)
        if answer is None:
            self.node_id = 0
        return answer

    async def pause(self, error: int) -> None:
        """After an error that passes."""
        if error in (NOT_COORDINATOR, NOT_AVAILABLE):
            self.node_id = 0
        await asyncio.sleep(PAUSE_S * (0.5 + self.random.random()))

    async def _find(self) -> None:
        await asyncio.sleep(PAUSE_S * self.random.random())
        node_id = self.random.choice(self.world.node_ids)
        answer = await self._ask(node_id, wire.FIND_COORDINATOR, wire.FIND_COORDINATOR_VERSION, self._find_request)
        if answer is not None:
            found = wire.find_coordinator_response(answer)
            self.node_id = found.node_id if found.error == 0 else 0

    async def _ask(self, node_id: int, api_key: int, version: int, body: bytes, *, lateness: float = 1.0) -> Any:
        node = self.world.nodes[node_id]
        serve = server_of(node, api_key, version, body)
        try:
            return await self.world.network.ask(self.client, node.name, node.find, serve, LIMIT_S, lateness=lateness)
        except Lost:
            return None
