"""The ways to the brokers of a real cluster: one's own is called directly, the others over the broker to broker listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkastore.errors import BrokerNotAvailableError
from kafkastore.interbroker.client import BrokerClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.controller.channels import Client, OpenClient
    from kafkastore.metadata.broker_nodes import Registration


class OwnBroker:
    """The broker that the controller runs in: ``serve(request)`` does what a handler of the request would do."""

    def __init__(self, serve: Callable[[Any], Awaitable[Any]]) -> None:
        self._serve = serve

    async def send(self, request: Any, timeout_ms: int) -> Any:  # noqa: ARG002 - nothing is waited for
        return await self._serve(request)

    async def close(self) -> None:
        return


class _WithoutListener:
    """A broker that does not have the listener: it cannot be told anything until it registers with one."""

    def __init__(self, broker: Registration, listener: str | None) -> None:
        self._reason = f"Broker {broker.node_id} has no listener {listener or ''}".rstrip()

    async def send(self, request: Any, timeout_ms: int) -> Any:  # noqa: ARG002 - as above
        raise BrokerNotAvailableError(self._reason)

    async def close(self) -> None:
        return


def client_opener(node_id: int, listener: str | None, serve: Callable[[Any], Awaitable[Any]]) -> OpenClient:
    """What a controller in broker ``node_id`` is given."""

    def open_client(broker: Registration) -> Client:
        if broker.node_id == node_id:
            return OwnBroker(serve)
        endpoint = broker.endpoint(listener)
        if endpoint is None:
            return _WithoutListener(broker, listener)
        return BrokerClient(endpoint.host, endpoint.port, f"controller-{node_id}")

    return open_client
