"""A request that must not run twice is sent once, to a controller that has just answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kafkastore._core import message_type
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.controller_connections import (
    MAX_AT_ONCE,
    ControllerConnections,
    NotTakenError,
    OutcomeUnknownError,
)
from kafkastore.interbroker.unreachable import BrokerNotReachedError, BrokerUnreachableError

EnvelopeResponse = message_type("EnvelopeResponse")
HERE = ("inside-2", 9093)
PLENTY_S = 10.0
UNREACHED, LOST = BrokerNotReachedError("refused"), BrokerUnreachableError("reset")


class Client:
    def __init__(self, world: World, host: str, port: int) -> None:
        self.world, self.host, self.port = world, host, port
        self.is_closed = False
        world.clients.append(self)

    async def send(self, request: Any, timeout_ms: int) -> Any:
        what = "request" if request == "request" else "probe"
        self.world.sent.append((what, self.host))
        await asyncio.sleep(0)
        if self.world.gate is not None:
            await self.world.gate.wait()
        outcome = self.world.outcomes.get(what, ErrorCode.NONE)
        if isinstance(outcome, Exception):
            raise outcome
        return EnvelopeResponse((b"done" if outcome == 0 else None, outcome))

    async def close(self) -> None:
        self.is_closed = True


class World:
    def __init__(self) -> None:
        self.clients: list[Client] = []
        self.sent: list[tuple[str, str]] = []
        self.outcomes: dict[str, Any] = {}
        self.gate: asyncio.Event | None = None
        connect: Any = lambda host, port, _: Client(self, host, port)  # noqa: E731 - a double, of another type
        self.connections = ControllerConnections("broker-1", connect)

    async def ask(self, *, is_repeatable: bool = False, at: tuple[str, int] = HERE) -> bytes:
        return await self.connections.pass_on(at, "request", PLENTY_S, is_repeatable=is_repeatable)

    @property
    def kinds(self) -> list[str]:
        return [what for what, _ in self.sent]


@pytest.fixture
async def world() -> World:
    return World()


async def test_request_goes_behind_a_probe_and_a_repeatable_one_without(world: World) -> None:
    assert await world.ask() == b"done"
    assert await world.ask(is_repeatable=True) == b"done"
    assert world.kinds == ["probe", "request", "request"]
    assert len(world.clients) == 1


@pytest.mark.parametrize("failure", [UNREACHED, LOST, ErrorCode.NOT_CONTROLLER], ids=["refused", "lost", "no more"])
async def test_request_behind_a_probe_without_an_answer_is_not_sent(world: World, failure: Any) -> None:
    world.outcomes["probe"] = failure
    with pytest.raises(NotTakenError):
        await world.ask()
    assert world.kinds == ["probe"]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (UNREACHED, NotTakenError),
        (LOST, OutcomeUnknownError),
        (ErrorCode.NOT_CONTROLLER, NotTakenError),
        (ErrorCode.INVALID_REQUEST, KafkastoreError),
    ],
    ids=["refused", "lost", "not the controller", "refusal"],
)
async def test_failure_of_a_request_says_whether_it_may_have_been_executed(
    world: World, failure: Any, error: type[Exception]
) -> None:
    world.outcomes["request"] = failure
    with pytest.raises(error) as raised:
        await world.ask()
    assert type(raised.value) is error
    assert world.kinds == ["probe", "request"]


async def test_lost_answer_to_a_repeatable_request_lets_it_be_asked_again(world: World) -> None:
    world.outcomes["request"] = LOST
    with pytest.raises(NotTakenError):
        await world.ask(is_repeatable=True)


async def test_requests_beyond_the_limit_wait_for_a_connection(world: World) -> None:
    world.gate = asyncio.Event()
    asked = [asyncio.ensure_future(world.ask(is_repeatable=True)) for _ in range(MAX_AT_ONCE + 5)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(world.sent) == len(world.clients) == MAX_AT_ONCE
    asked[-1].cancel()  # the request's time is up: it was never sent
    world.gate.set()
    await asyncio.gather(*asked, return_exceptions=True)
    assert len(world.sent) == MAX_AT_ONCE + 4
    assert len(world.clients) == MAX_AT_ONCE


async def test_connections_to_a_controller_of_before_are_closed(world: World) -> None:
    await asyncio.gather(world.ask(), world.ask())
    assert await world.ask(at=("inside-3", 9093)) == b"done"
    assert [(one.host, one.is_closed) for one in world.clients] == [
        ("inside-2", True),
        ("inside-2", True),
        ("inside-3", False),
    ]
    await world.connections.close()
    assert all(one.is_closed for one in world.clients)
