"""Offsets that transactions commit, in a simulation (KIP-98, KIP-447): the group of each transactional id, the client
that reads the group's offset, and the last offset for the history.

The offset that a transaction commits is its number among those of the transactional id. The reader asks with
``require_stable``, as Kafka's consumers of transactional groups do. No group has members.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from history.events import OffsetRead
from history.offsets import OffsetUnstable
from kafkastore.coordinator.runtime.partitioning import partition_for
from simulator import transaction_wire as wire
from simulator.coordinators import Coordinator, Over

if TYPE_CHECKING:
    from simulator.topics import Topic
    from simulator.world import World

OFFSETS_TOPIC = "__consumer_offsets"
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.commit.timeout.ms": "600",
}
PARTITION = 0
"""The partition whose offset is committed."""
GAP_S = 0.1
UNSTABLE_OFFSET_COMMIT = 88
LAST_S = 10.0
"""How long the last offset may not be readable in a cluster that is whole."""


def group_of(transactional_id: str) -> str:
    return f"group-{transactional_id}"


def row_of(transactional_id: str) -> str:
    """Its name in the history."""
    return f"{group_of(transactional_id)}/{PARTITION}"


class OffsetReader:
    """Reads the offset of one group now and then."""

    def __init__(self, world: World, transactional_id: str, topic: Topic) -> None:
        self.world = world
        self.topic = topic
        self.row = row_of(transactional_id)
        self.name = f"reader-{transactional_id}"
        self.random = world.random_of(self.name)
        self.group = group_of(transactional_id)
        self.coordinator = Coordinator(world, self.name, self.group, wire.GROUP, self.random)
        self._request = wire.offset_fetch_request(self.group, topic.name, PARTITION)

    async def run(self) -> None:
        try:
            while self.world.is_busy:
                await asyncio.sleep(self.random.expovariate(1 / GAP_S))
                await self.read()
        except Over:
            return

    async def read(self) -> wire.FetchedOffset | None:
        """None when there is no answer."""
        answer = await self.coordinator.ask(wire.OFFSET_FETCH, wire.OFFSET_FETCH_VERSION, self._request)
        if answer is None:
            return None
        found = wire.offset_fetch_response(answer, self.topic.name)
        if found.error == UNSTABLE_OFFSET_COMMIT:
            if not self._is_stale():
                self.world.history.events.append(OffsetUnstable(self.row))
        elif found.error:
            await self.coordinator.pause(found.error)
        elif found.offset >= 0:
            self.world.history.events.append(OffsetRead(self.row, found.offset, self._is_stale()))
        return found

    def _is_stale(self) -> bool:
        """Whether the broker that answered was replaced as coordinator. Until it hears of that it tells what was so
        before, as Apache Kafka's do: a client may find it by another broker that has not heard of it."""
        topic = self.world.topics.living[OFFSETS_TOPIC]
        number = partition_for(self.group, len(topic.assigned))
        leader: int = self.world.topics.leadership(topic, number).leader
        return leader != self.coordinator.node_id


async def read_last(world: World, transactional_id: str, topic: Topic) -> None:
    """The offset of the group in a cluster that is whole, for the history."""
    reader, until_s = OffsetReader(world, transactional_id, topic), world.time() + LAST_S
    found = None
    while world.time() < until_s:
        found = await reader.read()
        if found is not None and found.error == 0:
            world.history.offsets[reader.row] = found.offset if found.offset >= 0 else None
            return
        await asyncio.sleep(GAP_S)
    world.violate("hanging", f"the offset of {reader.row} is not readable in the end: {found}")
