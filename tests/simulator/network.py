"""The network between the processes: how long a message takes, whether it arrives, and in which order.

A link is one way. A message is on its way for a time that the seed draws, so messages overtake each other. What is sent
over a cut link, or arrives over one, is lost; so is now and then a message over a good one, as when a connection
breaks. A request whose sender has given up may still arrive. It knows no meaning of what it carries.
"""

from __future__ import annotations

import asyncio
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from simulator.virtual_loop import Process

WORLD = Context()
"""Of what belongs to no process."""

FASTEST_S, SLOWEST_S = 0.0005, 0.004
"""How long a message takes when nothing is wrong."""

LATE_S = 2.5
"""How long a message may take that its sender has given up."""

RESET_S = 0.05
"""How soon the sender learns that its connection broke."""


class Lost(Exception):  # noqa: N818 - it is a fact, not an error
    """The connection broke; whether the request arrived is not known."""


class Network:
    """See the module."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.cut: set[tuple[str, str]] = set()
        self.loss = 0.0
        self.late = 0.0
        self.slowest_s = SLOWEST_S

    def delay(self) -> float:
        return self.random.uniform(FASTEST_S, self.slowest_s)

    def passes(self, sender: str, receiver: str) -> bool:
        return (sender, receiver) not in self.cut

    def cut_one_way(self, sender: str, receiver: str) -> None:
        self.cut.add((sender, receiver))

    def cut_both_ways(self, one: str, other: str) -> None:
        self.cut |= {(one, other), (other, one)}

    def heal(self) -> None:
        self.cut.clear()

    async def ask(
        self,
        sender: str,
        receiver: str,
        find: Callable[[], Process | None],
        serve: Callable[[], Awaitable[Any]],
        limit_s: float,
        *,
        lateness: float = 1.0,
    ) -> Any:
        """The answer of whoever is at the other end, in whose process ``serve`` is run. Raises :class:`Lost`. A request
        comes late ``lateness`` times as often as others; with 0 it is lost instead."""
        exchange = _Exchange(self, sender, receiver, find, serve)
        fate, takes = self.random.random(), self.delay()
        if fate < self.late * lateness:
            takes = self.random.uniform(RESET_S, LATE_S)
            in_world(exchange.loop.call_later, RESET_S, exchange.break_off)
        elif fate < self.late + self.loss:
            in_world(exchange.loop.call_later, RESET_S, exchange.break_off)
            return await exchange.answered
        timer = in_world(exchange.loop.call_later, limit_s, exchange.break_off)
        in_world(exchange.loop.call_later, takes, exchange.arrive)
        try:
            return await exchange.answered
        finally:
            timer.cancel()


class _Exchange:
    """One request and its answer, on their way."""

    def __init__(
        self,
        network: Network,
        sender: str,
        receiver: str,
        find: Callable[[], Process | None],
        serve: Callable[[], Awaitable[Any]],
    ) -> None:
        self.network = network
        self.sender = sender
        self.receiver = receiver
        self.loop = asyncio.get_running_loop()
        self.answered: asyncio.Future[Any] = self.loop.create_future()
        self._find = find
        self._serve = serve

    def break_off(self) -> None:
        break_off(self.answered)

    def arrive(self) -> None:
        process = self._find()
        if process is None:
            self.break_off()  # nobody listens there
        elif self.network.passes(self.sender, self.receiver):
            self.loop.call_soon(self._begin, process, context=process.context)

    def _begin(self, process: Process) -> None:
        process.owes.append(self.answered)
        task: Any = self.loop.create_task(self._serve())
        task.add_done_callback(lambda task: self._ended(process, task))

    def _ended(self, process: Process, task: asyncio.Task[Any]) -> None:
        process.owes.remove(self.answered)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.loop.call_exception_handler({"message": f"a request to {self.receiver} failed", "exception": error})
        elif self.network.random.random() < self.network.loss:
            in_world(self.loop.call_later, RESET_S, self.break_off)
        else:
            in_world(self.loop.call_later, self.network.delay(), self._come_back, task.result())

    def _come_back(self, answer: Any) -> None:
        if self.network.passes(self.receiver, self.sender) and not self.answered.done():
            self.answered.set_result(answer)


def break_off(answered: asyncio.Future[Any]) -> None:
    """The sender learns that no answer comes."""
    if not answered.done():
        answered.set_exception(Lost())


def in_world(call: Any, *arguments: Any) -> Any:
    """Schedules what belongs to no process: the network goes on when processes do not."""
    return call(*arguments, context=WORLD)
