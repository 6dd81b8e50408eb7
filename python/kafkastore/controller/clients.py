"""The clients of a controller in a real cluster: its own broker is called directly, the other brokers are reached over
the broker to broker listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkastore.errors import BrokerNotAvailableError
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kafkastore.controller.channels import ControlClient, OpenClient
    from kafkastore.interbroker.client import BrokerClient
    from kafkastore.interbroker.orders import Order, OrderAnswer
    from kafkastore.metadata.broker_nodes import Registration

    Take = Callable[[Order], Awaitable[OrderAnswer]]


class OwnBroker:
    """The broker that the controller runs in: ``take(order)`` carries out the order."""

    def __init__(self, take: Take) -> None:
        self._take = take

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:  # noqa: ARG002 - nothing is waited for
        return await self._take(order)

    async def close(self) -> None:
        return


class OtherBroker:
    """A broker that is reached over a connection. What makes requests of orders is imported at the first one."""

    def __init__(self, client: BrokerClient) -> None:
        self.client = client

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:
        from kafkastore.interbroker.order_wire import answer_of, request_of

        turn = Turn()
        request = request_of(order)
        await turn.give_way()  # the request and the answer each take some 10 ms to convert, for thousands of partitions
        return answer_of(order, await self.client.send(request, timeout_ms))

    async def close(self) -> None:
        await self.client.close()


class _WithoutListener:
    """A broker without the listener: it cannot be sent any request until it registers with the listener."""

    def __init__(self, broker: Registration, listener: str | None) -> None:
        self._reason = f"Broker {broker.node_id} has no listener {listener or ''}".rstrip()

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:  # noqa: ARG002 - as above
        raise BrokerNotAvailableError(self._reason)

    async def close(self) -> None:
        return


def client_opener(
    node_id: int, listener: str | None, take: Take, connect: Callable[[str, int, str], BrokerClient]
) -> OpenClient:
    """Returns the function by which a controller in broker ``node_id`` opens its client to each broker."""

    def open_client(broker: Registration) -> ControlClient:
        if broker.node_id == node_id:
            return OwnBroker(take)
        endpoint = broker.endpoint(listener)
        if endpoint is None:
            return _WithoutListener(broker, listener)
        return OtherBroker(connect(endpoint.host, endpoint.port, f"controller-{node_id}"))

    return open_client
