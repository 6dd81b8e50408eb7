"""An idempotent producer with several batches in flight on one connection
(``max.in.flight.requests.per.connection=5``), and that connection.

On a connection requests arrive in the order in which they were sent, and answers come back in that of their requests,
as the data plane's network has it: a produce that waits for its replicas keeps none behind it from being appended. What
breaks, breaks the connection for all that is behind it. The producer then opens another one, to whoever leads now, and
sends all that is not acknowledged again, in order; what it sent before may still arrive. The first batch goes alone: of
a producer of which it knows nothing a broker takes any sequence, as Kafka's do, so one that begins to lead between two
batches would take the second for the first. So does the first batch behind records that were deleted: a follower that
begins its log behind them does not know them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore._simulator import producer_batch

from history.events import Sent
from simulator import wire
from simulator.clients import DUPLICATE, LIMIT_S, OUT_OF_ORDER, UNKNOWN_PRODUCER, Client, note_acknowledged
from simulator.network import LATE_S, RESET_S, Lost, break_off, in_world
from simulator.node import server_of

if TYPE_CHECKING:
    from simulator.node import Node
    from simulator.topics import Topic
    from simulator.virtual_loop import Process
    from simulator.world import World

IN_FLIGHT = 5
MAX_AT_ONCE = 6
"""Batches that come together."""
TICK_S = 1e-6


class Connection:
    """See the module."""

    def __init__(self, world: World, client: str, node: Node) -> None:
        self.world, self.network = world, world.network
        self.client = client
        self.node = node
        self.loop = asyncio.get_running_loop()
        self._process: Process | None = None
        """At the other end, when it has been reached."""
        self._is_cut = False
        """Nothing more arrives there."""
        self._arrives_at = self._returns_at = 0.0
        self._unanswered: deque[asyncio.Future[bytes]] = deque()
        self._answers: dict[asyncio.Future[bytes], bytes | None] = {}

    def send(self, version: int, body: bytes) -> asyncio.Future[bytes]:
        """A produce. Its answer; :class:`Lost` when the connection has broken before that."""
        answered: asyncio.Future[bytes] = self.loop.create_future()
        answered.add_done_callback(lambda done: done.cancelled() or done.exception())  # who asked may be gone
        self._unanswered.append(answered)
        fate, takes = self.network.random.random(), self.network.delay()
        if fate < self.network.late + self.network.loss:
            in_world(self.loop.call_later, RESET_S, self.break_off)
            if fate >= self.network.late:
                self._is_cut = True
            takes = self.network.random.uniform(RESET_S, LATE_S)
        self._arrives_at = max(self._arrives_at + TICK_S, self.loop.time() + takes)
        in_world(self.loop.call_at, self._arrives_at, self._arrive, answered, version, body)
        return answered

    def break_off(self) -> None:
        """Who asked gives up; what is on its way may arrive."""
        for answered in self._unanswered:
            break_off(answered)

    def _arrive(self, answered: asyncio.Future[bytes], version: int, body: bytes) -> None:
        process = self.node.find()
        self._process = self._process or process
        if process is None or process is not self._process:
            self._is_cut = True
            in_world(self.loop.call_later, self.network.delay(), self.break_off)
        if not self.network.passes(self.client, self.node.name):
            self._is_cut = True
        if not self._is_cut and process is not None:
            self.loop.call_soon(self._begin, process, answered, version, body, context=process.context)

    def _begin(self, process: Process, answered: asyncio.Future[bytes], version: int, body: bytes) -> None:
        process.owes.append(answered)
        task: Any = self.loop.create_task(server_of(self.node, wire.PRODUCE, version, body)())
        task.add_done_callback(lambda task: self._served(process, answered, task))

    def _served(self, process: Process, answered: asyncio.Future[bytes], task: asyncio.Task[bytes | None]) -> None:
        process.owes.remove(answered)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.loop.call_exception_handler({"message": f"a produce to {self.node.name} failed", "exception": error})
            return
        self._answers[answered] = task.result()
        while self._unanswered and self._unanswered[0] in self._answers:
            first = self._unanswered.popleft()
            self._returns_at = max(self._returns_at + TICK_S, self.loop.time() + self.network.delay())
            in_world(self.loop.call_at, self._returns_at, self._come_back, first, self._answers.pop(first))

    def _come_back(self, answered: asyncio.Future[bytes], answer: bytes | None) -> None:
        if answered.done() or not self.network.passes(self.node.name, self.client):
            return
        if answer is None:
            answered.set_exception(Lost())
        else:
            answered.set_result(answer)


class _Batch(NamedTuple):
    names: list[str]
    sequence: int


class PipelinedProducer(Client):
    """See the module."""

    def __init__(
        self, world: World, name: str, topic: Topic, partition: int, *, producer_id: int, gap_s: float
    ) -> None:
        super().__init__(world, name, topic, partition)
        self.producer_id = producer_id
        self.gap_s = gap_s
        self.count = 0
        self._sequence = 0
        self._pending: deque[_Batch] = deque()
        """All that is not acknowledged, in order."""
        self._more = asyncio.Event()
        self._is_known = False
        """Whether the partition has something of this producer."""
        self._end = 0
        """The offset behind its last record that was acknowledged."""

    async def run(self) -> None:
        making = asyncio.get_running_loop().create_task(self._make())
        try:
            while not (self.world.is_over or self.topic.is_doomed):
                if self._pending:
                    await self._send_all()
                elif making.done():
                    return
                else:
                    await self._wait_for_more()
        finally:
            making.cancel()

    async def _make(self) -> None:
        while self.has_work:
            count = self.random.randint(1, MAX_AT_ONCE)
            await asyncio.sleep(self.random.expovariate(1 / self.gap_s) * count)
            for _ in range(count if len(self._pending) < 2 * IN_FLIGHT else 0):
                self._make_batch()
            self._more.set()
        self._more.set()

    def _make_batch(self) -> None:
        names = [f"{self.name}-{self.count + number}" for number in range(self.random.randint(1, 3))]
        for name in names:
            self.world.history.events.append(Sent(name, self.name, self.key, self.count))
            self.count += 1
        self._pending.append(_Batch(names, self._sequence))
        self._sequence += len(names)

    async def _wait_for_more(self) -> None:
        self._more.clear()
        await self._more.wait()

    async def _send_all(self) -> None:
        """On one connection, until it breaks or a batch is refused."""
        if self.leader < 0:
            await self.refresh()
            return
        if "lost" in self.world.broken_rules():  # whom it reaches may have lost what it knew of this producer
            self._is_known = False
        connection = Connection(self.world, self.name, self.world.nodes[self.leader])
        flying: deque[asyncio.Future[bytes]] = deque()
        while self._pending and not self.topic.is_doomed:
            for batch in list(self._pending)[len(flying) : IN_FLIGHT if self._is_known and self._has_records() else 1]:
                flying.append(connection.send(wire.PRODUCE_VERSION, self._request(batch)))
            self._more.clear()
            await self._wait(flying[0])
            if not flying[0].done():
                continue  # there is more to send
            try:
                produced = wire.produce_response(flying.popleft().result())
            except Lost:
                break
            if not self._is_taken(produced):
                break
        connection.break_off()
        for answered in flying:
            break_off(answered)  # also one whose answer is on its way
        if self._pending:
            await self.refresh()

    def _has_records(self) -> bool:
        """Whether every log that there is reaches back to this producer's last acknowledged record."""
        lives = [node.life for node in self.world.nodes.values() if node.life is not None]
        return all(self.world.starts_of(life).get(self.key, 0) < self._end for life in lives)

    async def _wait(self, answered: asyncio.Future[bytes]) -> None:
        """For that answer, or for more to send; not longer than a client waits."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(LIMIT_S, break_off, answered)
        answered.add_done_callback(lambda _: self._more.set())
        try:
            await self._more.wait()
        finally:
            timer.cancel()

    def _request(self, batch: _Batch) -> bytes:
        records = self._batch(batch.names, batch.sequence)
        return wire.produce_request(self.topic.topic_id, self.partition, records, -1)

    def _batch(self, names: list[str], sequence: int) -> bytes:
        return producer_batch([name.encode() for name in names], self.world.now_ms(), self.producer_id, sequence)

    def _is_taken(self, produced: wire.Produced) -> bool:
        """What became of the oldest batch."""
        if produced.error in (0, DUPLICATE):
            self._is_known = True
            names = self._pending.popleft().names
            self._end = max(self._end, produced.base_offset + len(names))
            note_acknowledged(self, names, produced.base_offset)
            return True
        if produced.error in (OUT_OF_ORDER, UNKNOWN_PRODUCER):
            self.world.has_forgotten_producers |= not self._has_records()
            sequence = self._pending[0].sequence
            what = f"{self.name} is told that sequence {sequence}, behind all that are acknowledged, is out of order"
            self._is_out_of_order(what)
            self._begin_again()
        return False

    def _is_out_of_order(self, what: str) -> None:
        """It never may be: ``what`` says how it was."""
        self.world.violate("out-of-order", what)

    def _begin_again(self) -> None:
        """As another producer."""
        self.producer_id += 1000
        self._sequence = 0
        self._is_known = False
        for _ in range(len(self._pending)):
            names = self._pending.popleft().names
            self._pending.append(_Batch(names, self._sequence))
            self._sequence += len(names)
