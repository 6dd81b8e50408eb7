"""Requests find the controller on any broker, and are never repeated: the asker cannot know whether the first was
handled (KIP-497)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafkastore.interbroker.to_controller import ToController
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from kafkastore.metadata.image import BrokerImage, MetadataImage


class Client:
    """The client of one address; records the requests that are sent."""

    def __init__(self, host: str, port: int, client_id: str) -> None:
        self.host, self.port, self.client_id = host, port, client_id
        self.sent: list[Any] = []
        self.is_closed = False

    async def send(self, request: Any, timeout_ms: int) -> Any:
        assert asyncio.current_task() is not None
        if request == "lost":
            raise BrokerUnreachableError("no answer")
        self.sent.append((request, timeout_ms))
        return f"{self.host}:{self.port}"

    async def close(self) -> None:
        self.is_closed = True


class World:
    def __init__(self) -> None:
        self.image = MetadataImage()
        for node in (1, 2, 3):
            listeners = (("CLIENTS", f"public-{node}", 9092), ("BROKERS", f"inside-{node}", 9093))
            self.image.brokers[node] = BrokerImage(node, None, listeners)
        self.clients: list[Client] = []
        self.here: list[Any] = []
        self.to = ToController(1, self.image, "BROKERS", self._serve, self._connect)  # type: ignore[arg-type]

    async def _serve(self, request: Any) -> Any:
        self.here.append(request)
        return "here"

    def _connect(self, *arguments: Any) -> Client:
        self.clients.append(Client(*arguments))
        return self.clients[-1]


@pytest.fixture
async def world() -> World:
    return World()


async def test_controller_that_is_this_broker_is_called(world: World) -> None:
    world.image.controller_id = 1
    assert await world.to.ask("r", 7) == "here"
    assert (world.here, world.clients) == (["r"], [])


async def test_other_controller_is_reached_on_the_listener_of_the_brokers_over_one_connection(world: World) -> None:
    world.image.controller_id = 2
    assert [await world.to.ask("r", 7), await world.to.ask("s", 8)] == ["inside-2:9093"] * 2
    (client,) = world.clients
    assert (client.client_id, client.sent) == ("broker-1", [("r", 7), ("s", 8)])


async def test_next_request_goes_to_the_new_controller_and_the_old_connection_is_closed(world: World) -> None:
    world.image.controller_id = 2
    await world.to.ask("r", 7)
    world.image.controller_id = 3
    assert await world.to.ask("r", 7) == "inside-3:9093"
    assert [client.is_closed for client in world.clients] == [True, False]
    await world.to.close()
    assert world.clients[1].is_closed


async def test_controller_that_came_back_elsewhere_is_reached_there(world: World) -> None:
    world.image.controller_id = 2
    await world.to.ask("r", 7)
    world.image.brokers[2] = BrokerImage(2, None, (("BROKERS", "moved-2", 9093),))
    assert await world.to.ask("r", 7) == "moved-2:9093"


@pytest.mark.parametrize("controller", [-1, 9, 4])
async def test_without_a_controller_that_can_be_reached_there_is_no_answer(world: World, controller: int) -> None:
    """There is no controller, or it is not alive, or it lacks the listener."""
    world.image.brokers[4] = BrokerImage(4, None, (("CLIENTS", "public-4", 9092),))
    world.image.controller_id = controller
    with pytest.raises(BrokerUnreachableError):
        await world.to.ask("r", 7)
    assert (world.here, world.clients) == ([], [])


async def test_request_without_an_answer_is_not_repeated(world: World) -> None:
    world.image.controller_id = 2
    with pytest.raises(BrokerUnreachableError):
        await world.to.ask("lost", 7)
    assert world.clients[0].sent == []
    assert await world.to.ask("r", 7) == "inside-2:9093"
