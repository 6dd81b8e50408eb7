"""The clients of a simulation: producers that retry (``pipeline.py`` has those with several batches in flight),
consumers that go on where they were. They note what they were told.

A client knows a leader and its epoch from the metadata of some broker, and never goes back to an older epoch (KIP-320).
It is outside of every process: nothing stops it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore._simulator import producer_batch, record_values

from history.events import Acked, Read, Sent, Watermark
from simulator import wire
from simulator.network import Lost
from simulator.node import server_of

if TYPE_CHECKING:
    from simulator.topics import Topic
    from simulator.world import World

LIMIT_S = 1.0
PAUSE_S = 0.05
OUT_OF_ORDER, UNKNOWN_PRODUCER, DUPLICATE = 45, 59, 46


class Client:
    """What producers and consumers share: where the leader is."""

    def __init__(self, world: World, name: str, topic: Topic, partition: int) -> None:
        self.world = world
        self.name = name
        self.topic = topic
        self.partition = partition
        self.key = topic.key(partition)
        self.leader = -1
        self.leader_epoch = -1
        self.random = world.random_of(name)

    async def refresh(self) -> None:
        """The metadata of any broker."""
        await asyncio.sleep(PAUSE_S * self.random.random())
        node = self.world.nodes[self.random.choice(self.world.node_ids)]

        async def look() -> Any:
            life = node.life
            if life is None or not life.is_started:
                return None
            known = life.broker.image.topic(self.topic.name)
            if known is None or known.topic_id != self.topic.topic_id:
                return None
            return life.broker.image.partition(self.topic.name, self.partition)

        try:
            state = await self.world.network.ask(self.name, node.name, node.find, look, LIMIT_S)
        except Lost:
            return
        if state is not None and state.leader_epoch >= self.leader_epoch:
            self.leader, self.leader_epoch = state.leader, state.leader_epoch

    @property
    def has_work(self) -> bool:
        """Whether there is anything to send or read."""
        return self.world.is_busy and not self.topic.is_doomed

    async def ask(self, api_key: int, version: int, body: bytes) -> bytes | None:
        """The leader's answer; None when there is none."""
        if self.leader < 0:
            return None
        node = self.world.nodes[self.leader]
        try:
            answer: bytes | None = await self.world.network.ask(
                self.name, node.name, node.find, server_of(node, api_key, version, body), LIMIT_S
            )
        except Lost:
            return None
        return answer


class Producer(Client):
    """Sends one batch after the other; an idempotent one repeats a batch until it is acknowledged, under
    ``acks=all``."""

    def __init__(
        self, world: World, name: str, topic: Topic, partition: int, *, producer_id: int, gap_s: float
    ) -> None:
        super().__init__(world, name, topic, partition)
        self.is_idempotent = producer_id >= 0
        self.producer_id = producer_id
        self.gap_s = gap_s
        self.sequence = 0
        self.count = 0

    async def run(self) -> None:
        while self.has_work:
            await asyncio.sleep(self.random.expovariate(1 / self.gap_s))
            names = [f"{self.name}-{self.count + number}" for number in range(self.random.randint(1, 3))]
            for name in names:
                sent = Sent(name, self.name, self.key, self.count, self.is_idempotent)
                self.world.history.events.append(sent)
                self.count += 1
            await self._send(names)

    async def _send(self, names: list[str]) -> None:
        while not (self.world.is_over or self.topic.is_doomed):
            acks = -1 if self.is_idempotent else 1
            body = wire.produce_request(self.topic.topic_id, self.partition, self._batch(names), acks)
            answer = await self.ask(wire.PRODUCE, wire.PRODUCE_VERSION, body)
            if answer is not None:
                produced = wire.produce_response(answer)
                if self._is_done(names, produced):
                    return
            if not self.is_idempotent and not self.world.is_busy:
                return
            await self.refresh()

    def _batch(self, names: list[str]) -> bytes:
        sequence = self.sequence if self.is_idempotent else -1
        return producer_batch([name.encode() for name in names], self.world.now_ms(), self.producer_id, sequence)

    def _is_done(self, names: list[str], produced: wire.Produced) -> bool:
        if produced.error in (0, DUPLICATE):
            self.sequence += len(names)
            note_acknowledged(self, names, produced.base_offset, is_durable=self.is_idempotent)
            return True
        if produced.error in (OUT_OF_ORDER, UNKNOWN_PRODUCER):
            self.world.note(f"{self.name} is told that its sequence {self.sequence} is out of order")
            self.producer_id += 1000
            self.sequence = 0
        return False


def note_acknowledged(client: Client, names: list[str], base_offset: int, *, is_durable: bool = True) -> None:
    """One batch; -1 where it is not told where it stands."""
    if base_offset < 0:
        return
    client.world.note(f"{client.name} {names[0]}+{len(names)} acknowledged at {base_offset}")
    for number, name in enumerate(names):
        acked = Acked(name, client.key, base_offset + number, is_durable, client.world.time())
        client.world.history.events.append(acked)


class Consumer(Client):
    """Reads from the beginning, and now and then asks for the end."""

    def __init__(
        self, world: World, name: str, topic: Topic, partition: int, gap_s: float, *, is_committed: bool = False
    ) -> None:
        """``is_committed``: with isolation ``read_committed``."""
        super().__init__(world, name, topic, partition)
        self.offset = 0
        self.gap_s = gap_s
        self.is_committed = is_committed

    async def run(self) -> None:
        while self.has_work:
            await asyncio.sleep(self.random.expovariate(1 / self.gap_s))
            for read in await self.poll():
                self.world.history.events.append(read)
            if self.random.random() < 0.3 and self.topic.name == self.world.lasting_topic:
                await self.ask_end()  # by name, so only of a topic that is the only one of it

    async def poll(self) -> list[Read]:
        """One fetch."""
        isolation = int(self.is_committed)
        body = wire.fetch_request(self.topic.topic_id, self.partition, self.offset, self.leader_epoch, isolation)
        answer = await self.ask(wire.FETCH, wire.FETCH_VERSION, body)
        fetched = None if answer is None else wire.fetch_response(answer)
        if fetched is None or fetched.error:
            await self.refresh()
            if fetched is not None and fetched.error == wire.OFFSET_OUT_OF_RANGE:
                await self._find_start()
            return []
        found = []
        records, end = record_values(fetched.records, fetched.aborted)
        for offset, value in records:
            if offset >= self.offset:
                name, time = value.decode(), self.world.time()
                found.append(Read(name, self.key, offset, self.name, time, self.is_committed))
        if end > self.offset:
            self.offset = end
            self.world.note(f"{self.name} read to {self.offset}")
        return found

    async def ask_end(self) -> int | None:
        end = await self._list_offset(wire.LATEST)
        if end is not None:
            self.world.history.events.append(Watermark(self.key, end, self.name, self.world.time()))
        return end

    async def _find_start(self) -> None:
        """What it wanted is there no more: it goes on where the log begins now. Only of a topic that is the only one of
        its name."""
        start = await self._list_offset(wire.EARLIEST) if self.topic.name == self.world.lasting_topic else None
        if start is not None and start > self.offset:
            self.world.note(f"{self.name} goes on at {start}, where the log begins, from {self.offset}")
            self.offset = start

    async def _list_offset(self, timestamp: int) -> int | None:
        isolation = int(self.is_committed)
        body = wire.list_offsets_request(self.topic.name, self.partition, self.leader_epoch, timestamp, isolation)
        answer = await self.ask(wire.LIST_OFFSETS, wire.LIST_OFFSETS_VERSION, body)
        ended = None if answer is None else wire.list_offsets_response(answer, self.topic.name)
        if ended is None or ended.error:
            await self.refresh()
            return None
        return ended.offset
