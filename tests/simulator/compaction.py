"""A compacted topic in a simulation: producers of records with keys, readers that read it from the beginning
again and again, and the end of a run, when everything is cleaned twice.

What they sent and read goes to ``history/compaction.py``, which has the rules. All brokers clean all the time, a step
of each cleaning at a time (``node.py``): whatever else happens comes between two steps, too.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._simulator import keyed_batch, keyed_records

from history.compaction import KeptReplica, KeyAcked, Keyed, KeyRead, KeySent, PassBegan, PassEnded
from simulator import wire
from simulator.clients import Client, Producer
from simulator.pipeline import PipelinedProducer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from simulator.topics import Topic
    from simulator.world import World

TOPIC = "c"
SHARE = 0.1
BUSY_SHARE = 0.1
"""Of the seeds without a script: how many have the topic."""
FIRST_ID = 2_000_000
TOMBSTONES_SHARE = 0.3
FAST_GAP_S, SLOW_GAP_S = 0.03, 0.25
"""Between the fetches of a reader; a fetch gets one segment at most."""
STEP_S = ((0.0005, 0.005), (0.002, 0.06))
"""How long one step of a cleaning takes, from and to, in fast seeds and in slow ones."""
FILLER_BYTES = 60
"""Of the value of a record that rolls segments; the batch fits the smallest segment."""
FILLER_BATCH_BYTES = 150
"""At the least."""
CLEANED_S = 20.0
"""How long a quiet cluster may take to clean what clients wrote."""
PAUSE_S = 0.1


class Plan(NamedTuple):
    """What a seed plays."""

    configs: dict[str, str]
    """Of the topic."""
    delete_retention_s: float
    keys: int


def draw(random: Random, share: float) -> Plan | None:
    """None when the seed has no compacted topic."""
    if random.random() >= share:
        return None
    retention_ms = random.choice((2000, 3000, 4000))
    policy = random.choice(("compact", "compact", "compact,delete"))
    configs = {
        "cleanup.policy": policy,
        "segment.bytes": random.choice(("250", "700", "2500")),
        "min.cleanable.dirty.ratio": random.choice(("0.01", "0.1", "0.3")),
        "delete.retention.ms": str(retention_ms),
        "min.compaction.lag.ms": random.choice(("0", "0", "500")),
    }
    return Plan(configs, retention_ms / 1000, random.randint(3, 8))


def broker_settings(random: Random, *, has_topic: bool) -> dict[str, str]:
    """The internal topics are compacted all the time in runs with a compacted topic and in a tenth of the others, which
    would play far fewer seeds in their time otherwise."""
    if not has_topic and random.random() >= BUSY_SHARE:
        return {}
    return {
        "log.cleaner.backoff.ms": random.choice(("200", "300", "500")),
        "log.cleaner.threads": random.choice(("1", "1", "2")),
        "log.cleaner.dedupe.buffer.size": str(4 << 20),
        "log.cleaner.min.cleanable.ratio": random.choice(("0.01", "0.3", "0.5")),
        "log.cleaner.delete.retention.ms": random.choice(("300", "2000", "86400000")),
        "offsets.topic.segment.bytes": random.choice(("700", "1500", "104857600")),
        "transaction.state.log.segment.bytes": random.choice(("700", "1500", "104857600")),
    }


class Cleanings:
    """How long cleanings take in a run, and how long the longest of the topic has taken."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._step_s = random.choice(STEP_S)
        self.longest_s = 0.0

    def step_s(self) -> float:
        return self._random.uniform(*self._step_s)


class _Records:
    """The records that one producer sends."""

    def __init__(self, client: Client, plan: Plan) -> None:
        self.client = client
        self.plan = plan
        self._sent: dict[str, Keyed] = {}

    def batch(self, names: list[str], producer_id: int, sequence: int) -> bytes:
        """The same for the same names."""
        world = self.client.world
        for name in names:
            if name not in self._sent:
                key = f"key-{self.client.random.randrange(self.plan.keys)}"
                record = Keyed(name, key, self.client.random.random() < TOMBSTONES_SHARE)
                self._sent[name] = record
                world.compacted.events.append(KeySent(record, self.client.key, world.time()))
        return _batch([self._sent[name] for name in names], world, producer_id, sequence)

    def acknowledged(self, names: list[str], base_offset: int) -> None:
        if base_offset < 0:
            return
        world, key = self.client.world, self.client.key
        for offset, name in enumerate(names, base_offset):
            world.compacted.events.append(KeyAcked(self._sent[name], key, offset))
            world.acked_ends[key] = max(world.acked_ends.get(key, 0), offset + 1)


def _batch(records: list[Keyed], world: World, producer_id: int, sequence: int, padding: str = "") -> bytes:
    rows = [
        (one.key.encode(), None if one.is_tombstone else f"{one.id}{padding}".encode(), str(one.id).encode())
        for one in records
    ]
    batch: bytes = keyed_batch(rows, world.now_ms(), producer_id, sequence)
    return batch


class KeyedProducer(Producer):
    """One batch after the other, under ``acks=all``."""

    def __init__(self, world: World, name: str, topic: Topic, partition: int, plan: Plan, producer_id: int) -> None:
        super().__init__(world, name, topic, partition, producer_id=producer_id, gap_s=0.06)
        self._records = _Records(self, plan)

    def _batch(self, names: list[str]) -> bytes:
        return self._records.batch(names, self.producer_id, self.sequence)

    def _is_done(self, names: list[str], produced: wire.Produced) -> bool:
        before = self.producer_id
        is_done = super()._is_done(names, produced)
        if is_done:
            self._records.acknowledged(names, produced.base_offset)
        if self.producer_id != before:
            self.world.violate("out-of-order", f"{self.name}, whose last batch compaction keeps, is out of order")
        return is_done


class PipelinedKeyedProducer(PipelinedProducer):
    """With several batches in flight.

    Of a producer compaction keeps the last batch, as Apache Kafka does. Of several that nobody has acknowledged, one in
    the middle may be gone when a new replica fetches the log; as the leader it then knows the others and finds that one
    out of order. The producer gives up what is not acknowledged, as real ones do."""

    def __init__(self, world: World, name: str, topic: Topic, partition: int, plan: Plan, producer_id: int) -> None:
        super().__init__(world, name, topic, partition, producer_id=producer_id, gap_s=0.06)
        self._records = _Records(self, plan)

    def _batch(self, names: list[str], sequence: int) -> bytes:
        return self._records.batch(names, self.producer_id, sequence)

    def _is_out_of_order(self, what: str) -> None:
        self.world.note(what)

    def _begin_again(self) -> None:
        self._pending.clear()
        super()._begin_again()

    def _is_taken(self, produced: wire.Produced) -> bool:
        names = self._pending[0].names
        is_taken = super()._is_taken(produced)
        if is_taken:
            self._records.acknowledged(names, produced.base_offset)
        return is_taken


class KeyedReader(Client):
    """Reads from the beginning to the end, again and again; a pass that takes longer than ``delete.retention.ms`` is
    given up."""

    def __init__(self, world: World, name: str, topic: Topic, partition: int, plan: Plan, gap_s: float) -> None:
        super().__init__(world, name, topic, partition)
        self.plan = plan
        self.gap_s = gap_s
        self.offset = 0
        self._leaders: set[tuple[int, int]] = set()
        self._end = 1
        """The greatest high watermark of the present pass: below it a value may be gone because of a newer one."""

    async def run(self) -> None:
        while self.has_work:
            await asyncio.sleep(self.random.expovariate(1 / self.gap_s))
            await self._read_all()

    async def _read_all(self) -> None:
        events, began_s = self.world.compacted.events, self.world.time()
        events.append(PassBegan(self.name, self.key, began_s))
        self.offset, self._leaders, self._end = 0, set(), 1
        while self.has_work and self.world.time() - began_s < self.plan.delete_retention_s:
            await self.poll()
            if self.offset >= max(self._end, self.world.acked_ends.get(self.key, 0)):
                self.world.note(f"{self.name} has read to {self.offset} from {sorted(self._leaders)}")
                events.append(PassEnded(self.name, self.key, len(self._leaders) == 1, self.world.time()))
                return
            await asyncio.sleep(self.random.expovariate(1 / self.gap_s))

    async def poll(self) -> None:
        """One fetch."""
        leader = self.leader, self.leader_epoch
        body = wire.fetch_request(self.topic.topic_id, self.partition, self.offset, self.leader_epoch)
        answer = await self.ask(wire.FETCH, wire.FETCH_VERSION, body)
        fetched = None if answer is None else wire.fetch_response(answer)
        if fetched is None or fetched.error:
            await self.refresh()
            return
        self._leaders.add(leader)
        self._end = max(self._end, fetched.high_watermark)
        records, end = keyed_records(fetched.records)
        for offset, key, value, name in records:
            if offset >= self.offset:
                read = KeyRead(self.name, self.key, offset, _keyed(key, value, name))
                self.world.compacted.events.append(read)
        self.offset = max(self.offset, end)


def _keyed(key: bytes | None, value: bytes | None, name: bytes | None) -> Keyed:
    return Keyed((name or b"").decode(), (key or b"").decode(), value is None)


def clients(world: World, topic: Topic, number: int, random: Random) -> Iterator[Client]:
    """Of one partition."""
    plan, key = world.compaction, topic.key(number)
    assert plan is not None
    for one in range(2):
        kind = random.choice((KeyedProducer, PipelinedKeyedProducer))
        yield kind(world, f"keyed-{key}-{one}", topic, number, plan, FIRST_ID + 100 * number + one)
    yield KeyedReader(world, f"fast-{key}", topic, number, plan, FAST_GAP_S)
    yield KeyedReader(world, f"slow-{key}", topic, number, plan, SLOW_GAP_S)


# ---- the end
class _Filler(Client):
    """Writes what rolls the segments of a partition; the records have a key of their own."""

    def __init__(self, world: World, topic: Topic, number: int) -> None:
        super().__init__(world, f"filler-{topic.key(number)}", topic, number)
        self._count = 0

    async def write(self) -> int:
        """Returns where the log ended before."""
        assert self.world.compaction is not None
        segment_bytes = int(self.world.compaction.configs["segment.bytes"])
        first = await self._write_one()
        for _ in range(2 + 2 * segment_bytes // FILLER_BATCH_BYTES):
            await self._write_one()
        return first

    async def _write_one(self) -> int:
        record = Keyed(f"{self.name}-{self._count}", "filler")
        self.world.compacted.events.append(KeySent(record, self.key, self.world.time()))
        batch = _batch([record], self.world, FIRST_ID + 99_000 + self.partition, self._count, "." * FILLER_BYTES)
        self._count += 1
        until_s = self.world.time() + CLEANED_S
        while self.world.time() < until_s:
            body = wire.produce_request(self.topic.topic_id, self.partition, batch, -1)
            answer = await self.ask(wire.PRODUCE, wire.PRODUCE_VERSION, body)
            produced = None if answer is None else wire.produce_response(answer)
            if produced is not None and produced.error == 0:
                return produced.base_offset
            await self.refresh()
        self.world.violate("stuck", f"{self.name} cannot write")
        return 0


async def clean_twice(world: World) -> None:
    """Looks at all replicas in a cluster that is whole; then lets the brokers clean what is there, waits until each
    delete horizon has passed, lets them clean again, and looks once more."""
    assert world.compaction is not None
    places = [(topic, number) for topic, number in world.topics.places() if topic.name == TOPIC]
    history = world.compacted
    history.longest_cleaning_s = world.cleanings.longest_s
    history.replicas += _replicas(world, places, {})
    if world.compaction.configs["min.compaction.lag.ms"] != "0":
        return  # an empty segment is as old as its file, whose time is not the simulation's: it may never be cleaned
    fillers = {(topic, number): _Filler(world, topic, number) for topic, number in places}
    ends = {place: await filler.write() for place, filler in fillers.items()}
    if await _are_cleaned(world, ends):
        await asyncio.sleep(world.compaction.delete_retention_s + PAUSE_S)
        again = {place: await filler.write() for place, filler in fillers.items()}
        await _are_cleaned(world, again)
        clean_to = {place: ends[place] for place in places if _is_clean(world, again, place)}
        history.cleaned += _replicas(world, places, clean_to)
    else:
        history.cleaned += _replicas(world, places, {})


async def _are_cleaned(world: World, ends: dict[tuple[Topic, int], int]) -> bool:
    """Waits until every replica is clean up to there."""
    until_s = world.time() + CLEANED_S
    while not all(_is_clean(world, ends, place) for place in ends):
        if world.time() > until_s:
            return False
        await asyncio.sleep(PAUSE_S)
    return True


def _is_clean(world: World, ends: dict[tuple[Topic, int], int], place: tuple[Topic, int]) -> bool:
    topic, number = place
    return all(
        _clean_to(world, topic.name, number, node_id) >= ends[place]
        for node_id in world.topics.leadership(topic, number).isr
    )


def _clean_to(world: World, name: str, number: int, node_id: int) -> int:
    """By the checkpoint of the cleaner; -1 when there is none."""
    for directory in world.nodes[node_id].log_dirs:
        with suppress(FileNotFoundError), open(os.path.join(directory, "cleaner-offset-checkpoint")) as file:
            for line in file.read().splitlines()[2:]:
                topic, partition, offset = line.split()
                if (topic, int(partition)) == (name, number):
                    return int(offset)
    return -1


def _replicas(
    world: World, places: list[tuple[Topic, int]], clean_to: dict[tuple[Topic, int], int]
) -> Iterator[KeptReplica]:
    for topic, number in places:
        for node_id in world.topics.leadership(topic, number).isr:
            life = world.nodes[node_id].life
            assert life is not None
            assert life.engine is not None
            contents = b"".join(batch[3] for batch in life.engine.steps.batches(topic.name, number))
            records = {offset: _keyed(*row) for offset, *row in keyed_records(contents)[0]}
            end = life.engine.real.partition_offsets(topic.name, number).log_end_offset
            clean = clean_to.get((topic, number))
            yield KeptReplica(topic.key(number), node_id, end, records, clean, world.time())
