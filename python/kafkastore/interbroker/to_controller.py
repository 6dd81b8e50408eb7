"""Requests to the controller, wherever it is: called directly when it is this broker, over a connection otherwise.

A request goes to the controller that the metadata names when it is sent. When the controller has changed since, the
answer is NOT_CONTROLLER and the caller asks again. This module repeats no request.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore.interbroker.unreachable import BrokerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.interbroker.client import BrokerClient
    from kafkastore.messages import OutgoingRequest
    from kafkastore.metadata.image import MetadataImage

    Address = tuple[str, int]


class ToController:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        listener: str,
        here: Callable[[OutgoingRequest], Awaitable[Any]],
        connect: Callable[[str, int, str], BrokerClient],
    ) -> None:
        """``here`` serves a request when this broker is the controller; ``listener`` is the name of the listener for
        requests between brokers."""
        self.node_id = node_id
        self.image = image
        self.listener = listener
        self._here = here
        self._connect = connect
        self._client: BrokerClient | None = None

    async def ask(self, request: OutgoingRequest, timeout_ms: int) -> Any:
        """The controller's answer. Raises BrokerUnreachableError when no answer comes, or no controller is known."""
        if self.image.controller_id == self.node_id:
            return await self._here(request)
        host, port = self._address()
        client = self._client
        if client is None or (client.host, client.port) != (host, port):
            await self.close()
            client = self._client = self._connect(host, port, f"broker-{self.node_id}")
        # a handler's first step runs outside of a task, and the client needs one
        return await asyncio.get_running_loop().create_task(client.send(request, timeout_ms))

    def _address(self) -> Address:
        broker = self.image.brokers.get(self.image.controller_id)
        for name, host, port in () if broker is None else broker.listeners:
            if name == self.listener:
                return host, port
        raise BrokerUnreachableError(f"no controller is known on listener {self.listener}")

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
