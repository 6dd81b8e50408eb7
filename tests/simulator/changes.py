"""What makes logs begin elsewhere and brokers behave otherwise while a run is on: DeleteRecords, retention, and
configurations that change.

Clients ask for them on the real way: bytes that a broker's control plane reads among its events, checks, passes on to
the controller and answers. Drawn from the seed before the run begins. Where a log may begin is worked out here, from
what was asked for and what the log held, never from where a broker has moved it: ``Trimmed`` in the history says so,
and what is missing above it is lost.
"""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from history.events import Trimmed
from kafkastore._core import EngineError
from simulator import wire
from simulator.faults import FAULTS_FROM_S, FAULTS_TO_S
from simulator.network import Lost

if TYPE_CHECKING:
    from random import Random

    from simulator.node import Life
    from simulator.topics import Topic
    from simulator.world import World

LIMIT_S = 1.0
PAUSE_S = 0.05
DELETE_TIMEOUT_MS = 700
MAX_TIMESTAMP_AT = 35
"""In the header of a batch."""

SEGMENT_BYTES = ("250", "700", "2500")
"""A batch of the clients takes some hundred bytes, so each run has many segments."""

TOPIC_CHANGES = {
    "min.insync.replicas": ("1", "2", None),
    "segment.bytes": SEGMENT_BYTES,
    "retention.bytes": ("1500", "4000", "-1"),
    "retention.ms": ("700", "2000", "-1"),
}
CLUSTER_CHANGES = {"min.insync.replicas": ("1", "2", None), "log.segment.bytes": SEGMENT_BYTES}
"""Of the topics that have none of their own."""
BROKER_CHANGES = {"background.threads": ("5", "20", None), "num.replica.fetchers": ("1", "2")}
"""What may be changed of one broker alone."""
TABLES = {"topic": TOPIC_CHANGES, "brokers": CLUSTER_CHANGES, "broker": BROKER_CHANGES, "delete records": TOPIC_CHANGES}
UNCLEAN = "unclean.leader.election.enable"


class Change(NamedTuple):
    kind: str
    begins_s: float
    chance: float
    """Which partition, and up to where, as a part of all."""
    configs: tuple[tuple[str, str | None], ...] = ()


def draw(random: Random) -> list[Change]:
    """None in half of the seeds. Few of the others allow unclean elections, with which records may be lost."""
    if random.random() < 0.5:
        return []
    kinds = random.sample(("delete records", "delete records", "topic", "topic", "brokers", "broker"), 3)
    may_be_unclean = random.random() < 0.15
    found = []
    for _ in range(random.randint(1, 6)):
        kind = random.choice(kinds)
        table = TABLES[kind]
        names = random.sample(sorted(table), random.choice((1, 1, 2)))
        configs = [(name, random.choice(table[name])) for name in names]
        if may_be_unclean and kind != "broker" and random.random() < 0.5:
            configs.append((UNCLEAN, random.choice(("true", "true", "false"))))
        found.append(Change(kind, random.uniform(FAULTS_FROM_S, FAULTS_TO_S), random.random(), tuple(configs)))
    return sorted(found, key=lambda one: one.begins_s)


def allow_losses(drawn: list[Change]) -> bool:
    """Whether any of them allows unclean elections."""
    return any((UNCLEAN, "true") in change.configs for change in drawn)


def first_configs(random: Random) -> dict[str, str]:
    """Of a topic that is made."""
    return {"segment.bytes": random.choice(SEGMENT_BYTES)}


class Changes:
    """Asks for them; see the module."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.random = world.random_of("changes")
        self.tasks: list[asyncio.Task[None]] = []
        self.allows_losses = False
        """Whether unclean elections were asked for."""
        self._min_bytes: int | None = None
        self._min_ms: int | None = None
        """The least that retention was asked to keep at any time; None for everything."""

    def begin(self, change: Change) -> None:
        topic = self.world.topics.living.get(self.world.lasting_topic)
        if topic is not None:
            perform = self._delete_records if change.kind == "delete records" else self._configure
            self.tasks.append(asyncio.get_running_loop().create_task(perform(topic, change)))

    # ---- asking
    async def _delete_records(self, topic: Topic, change: Change) -> None:
        """Of one partition, up to a part of what a client sees of it, or to its end."""
        partition = int(change.chance * 1000) % len(topic.assigned)
        while self.world.is_busy:
            state = self.world.topics.leadership(topic, partition)
            leader = 0 if state is None else state.leader
            if leader > 0:
                offset = -1 if change.chance > 0.8 else self._part_of(topic, partition, leader, change.chance)
                if offset >= 0:
                    self._note(topic, partition, offset, "a client asks for it")
                body = wire.delete_records_request(topic.name, partition, offset, DELETE_TIMEOUT_MS)
                answer = await self._ask(leader, wire.DELETE_RECORDS, wire.DELETE_RECORDS_VERSION, body)
                deleted = None if answer is None else wire.delete_records_response(answer, topic.name)
                self.world.note(f"delete records of {topic.key(partition)} up to {offset}: {deleted}")
                if deleted is not None and deleted.error == 0:
                    if deleted.low_watermark < offset:
                        self.world.violate("undeleted", f"{topic.key(partition)} up to {offset} was answered {deleted}")
                    return
            await asyncio.sleep(PAUSE_S * (1 + self.random.random()))

    def _part_of(self, topic: Topic, partition: int, leader: int, chance: float) -> int:
        life = self.world.nodes[leader].life
        return 0 if life is None else int(chance * self.world.ends_of(life).get(topic.key(partition), 0))

    async def _configure(self, topic: Topic, change: Change) -> None:
        configs = dict(change.configs)
        self._expect(configs)
        while self.world.is_busy:
            node_id = self.random.choice(self.world.node_ids)
            kind, name = wire.OF_BROKER, str(node_id) if change.kind == "broker" else ""
            if change.kind == "topic":
                kind, name = wire.OF_TOPIC, topic.name
            body = wire.alter_configs_request(kind, name, configs)
            answer = await self._ask(node_id, wire.ALTER_CONFIGS, wire.ALTER_CONFIGS_VERSION, body)
            error = None if answer is None else wire.alter_configs_response(answer)
            self.world.note(f"broker-{node_id} configures {change.kind} {name} {configs}: {error}")
            if error == 0:
                return
            await asyncio.sleep(PAUSE_S * (1 + self.random.random()))

    def _expect(self, configs: dict[str, str | None]) -> None:
        """Before it is asked for: it may be in force from now on, or at any later time."""
        self.allows_losses |= configs.get(UNCLEAN) == "true"
        size, time = (int(configs.get(name) or -1) for name in ("retention.bytes", "retention.ms"))
        if size >= 0:
            self._min_bytes = size if self._min_bytes is None else min(size, self._min_bytes)
        if time >= 0:
            self._min_ms = time if self._min_ms is None else min(time, self._min_ms)

    async def _ask(self, node_id: int, api_key: int, version: int, body: bytes) -> Any:
        node = self.world.nodes[node_id]

        async def serve() -> bytes | None:
            return None if node.life is None else await node.life.serve_control(api_key, version, "admin", body)

        try:
            return await self.world.network.ask("admin", node.name, node.find, serve, LIMIT_S)
        except Lost:
            self.world.admin.is_unsure()
            return None

    # ---- where a log may begin
    def _note(self, topic: Topic, partition: int, offset: int, why: str) -> None:
        self.world.history.events.append(Trimmed(topic.key(partition), offset, why, self.world.time()))

    def note_deletion(self, life: Life, name: str, partition: int) -> None:
        """Before a leader deletes all that is committed, as it was asked to."""
        topic = self.world.topics.living.get(name)
        assert life.engine is not None
        if topic is not None:
            high_watermark = life.engine.real.partition_offsets(name, partition).high_watermark
            self._note(topic, partition, high_watermark, "a client asks for all")

    def note_retention(self, life: Life) -> None:
        """Before a broker's retention: up to where it may delete, by what was ever asked for and what there is."""
        topic = self.world.topics.living.get(self.world.lasting_topic)
        if topic is None or (self._min_bytes is None and self._min_ms is None):
            return
        assert life.engine is not None
        for partition in range(len(topic.assigned)):
            try:
                high_watermark = life.engine.real.partition_offsets(topic.name, partition).high_watermark
                batches = life.engine.steps.batches(topic.name, partition)
            except EngineError:  # it is not there
                continue
            offset = min(self._retained_from(batches), high_watermark)
            if offset > 0:
                self._note(topic, partition, offset, "retention")

    def _retained_from(self, batches: list[tuple[int, int, int, bytes]]) -> int:
        oldest_ms = self.world.now_ms() - self._min_ms if self._min_ms is not None else None
        size, by_size, by_time, is_old = sum(len(batch[3]) for batch in batches), 0, 0, True
        for _, last, _, content in batches:
            (timestamp,) = struct.unpack_from(">q", content, MAX_TIMESTAMP_AT)
            is_old = is_old and oldest_ms is not None and timestamp < oldest_ms
            by_time = last + 1 if is_old else by_time
            size -= len(content)
            if self._min_bytes is not None and size >= self._min_bytes:
                by_size = last + 1
        return max(by_size, by_time)
