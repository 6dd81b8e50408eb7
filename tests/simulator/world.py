"""One run: a cluster, its clients, its faults and what was noted of it, all from one seed.

A run begins with brokers that start, goes on with clients and faults, and ends when the cluster is whole again and
everything is read once more. :func:`run` says what became of it. What depends on anything but the seed (times, random
ids, threads) brokers are given (:meth:`World.surroundings`); nothing of them is patched.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import os
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from history.checker import Violation, check
from history.compaction import CompactionHistory, broken_by_compaction
from history.events import Acked, History, Led
from history.offsets import broken_by_offsets
from kafkastore._core import EngineError
from kafkastore.errors import KafkastoreError
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from kafkastore.metadata.store import Delete
from kafkastore.server.surroundings import Surroundings
from kafkastore.topic.new_topic import NewTopic
from simulator import changes, compaction, ending, faults, offsets, operations, transactions
from simulator.clients import Consumer, Producer
from simulator.metadata import NAME as STORE
from simulator.metadata import Tree
from simulator.network import LATE_S, SLOWEST_S, Lost, Network, in_world
from simulator.node import START_MS, Life, Node
from simulator.pipeline import PipelinedProducer
from simulator.scripts import FORGOTTEN, LOSSES
from simulator.sockets import watch
from simulator.topics import Topics
from simulator.virtual_loop import Process, Quiescent, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkastore.messages import OutgoingRequest
    from simulator.faults import Fault
    from simulator.scripts import Script
    from simulator.topics import Topic

LASTING, PASSING = "t", "d"
"""The topic of every run, which is never deleted, and one beside it in runs with operations, which may be."""
TRANSACTIONS_SHARE = 0.25
"""Of the seeds without a script: how many have transactions."""
FIRST_ID = 1_000_000
"""Of the producers that choose their ids; brokers give out smaller ones."""
BUSY_S = 5.0
"""How long clients work."""
SETTLE_S = 40.0
"""How long the cluster may take to be whole again, with the longest wait of any part of it in it."""
STEP_S = 0.05
FASTEST_DISK_S, SLOWEST_DISK_S = 0.0002, 0.003

SETTINGS = {
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "replica.lag.time.max.ms": "400",
    "replica.fetch.wait.max.ms": "60",
    "replica.fetch.backoff.ms": "30",
    "replica.socket.timeout.ms": "500",
    "controller.socket.timeout.ms": "500",
    "replica.high.watermark.checkpoint.interval.ms": "300",
    "log.flush.offset.checkpoint.interval.ms": "700",
    "log.flush.start.offset.checkpoint.interval.ms": "500",
    "log.retention.check.interval.ms": "200",
    "log.segment.bytes": "1500",
    "log.initial.task.delay.ms": "100",
    "num.recovery.threads.per.data.dir": "1",
    "leader.imbalance.check.interval.seconds": "1",
}


class Outcome(NamedTuple):
    seed: int
    violations: list[Violation]
    digest: str
    """Of the trace: two runs of one seed have the same."""
    trace: list[str]
    acknowledged: int
    leaders: int
    """How often a partition was led by another, or in another epoch."""
    segments: int
    """Different ones of all partitions that were on some disk at the end."""


class _Crash:
    """Of a replica's broker; ``has_lost`` what was not synced."""

    def __init__(self, has_lost: bool, leader_epoch: int, registered: int) -> None:
        self.has_lost = has_lost
        self.leader_epoch = leader_epoch
        self.registered = registered
        self.has_left = False


class World:
    """See the module."""

    def __init__(self, seed: int, folder: Path, script: Script | None = None) -> None:
        self.seed = seed
        self.script = script
        self.random = random.Random(seed)
        self.lasting_topic, self.passing_topic = LASTING, PASSING
        self.late_s = LATE_S
        self.network = Network(self.random_of("network"))
        self._disks = self.random_of("disks")
        self.tree = Tree()
        self.topics = Topics(self.tree)
        self.history = History()
        self.trace: list[str] = []
        self.has_forgotten_producers = False
        """Whether a broker did not know batches of a producer any more, which were deleted."""
        self.violations: list[Violation] = []
        self.is_busy = True
        self.is_over = False
        self.has_operations = operations.is_any(self.random_of("operations"))
        if script is not None:
            self.has_operations = script.has_operations
        brokers = self.random.choice((3, 3, 3, 4, 5))
        self.node_ids = tuple(range(1, brokers + 1 + (self.has_operations and brokers < 5)))
        self.partitions = self.random.choice((1, 1, 2))
        settings = SETTINGS | {"auto.leader.rebalance.enable": self.random.choice(("true", "false"))}
        self.plan = self._draw_transactions()
        """Of the transactions, in runs that have any."""
        self.compaction = self._draw_compaction()
        """Of the compacted topic, in runs that have it."""
        self.compacted = CompactionHistory(0.0 if self.compaction is None else self.compaction.delete_retention_s)
        self.acked_ends: dict[str, int] = {}
        """Of the partitions of the compacted topic: behind the last record that was acknowledged."""
        self.cleanings = compaction.Cleanings(self.random_of("cleanings"))
        self._open_since_s: float | None = None
        self._healed_s = 0.0
        settings |= compaction.broker_settings(self.random_of("cleaner"), has_topic=self.compaction is not None)
        if self.plan is not None:
            settings |= transactions.SETTINGS
        self.network.late = 0.0 if script is None or self.plan is not None else script.late
        dirs = 2 if self.has_operations else 1
        self.nodes = {number: Node(self, number, folder, settings, dirs) for number in self.node_ids}
        self.admin = operations.Admin(self)
        self.changes = changes.Changes(self)
        self._made = self.random_of("topics that are made")
        self._ids = self.random_of("ids")
        self.clients: list[asyncio.Task[None]] = []
        self._crashes: dict[tuple[Topic, int, int], _Crash] = {}
        """Of each partition on each node the last one, until it is made good."""
        self.tree.on_change = self.watch_states
        self.topics.on_partition = lambda topic, number: self.later(0.0, self._employ, topic, number)

    def _draw_transactions(self) -> transactions.Plan | None:
        """None in runs whose faults or configurations may lose what was acknowledged: then a transaction may be torn,
        too."""
        share = TRANSACTIONS_SHARE if self.script is None else self.script.transactions
        changed = changes.draw(self.random_of("what is changed"))
        if changes.allow_losses(changed):
            share = 0.0
        has_changes = bool(changed) and (self.script is None or self.script.has_operations)
        return transactions.draw(self.random_of("transactions"), share, has_changes=has_changes)

    def _draw_compaction(self) -> compaction.Plan | None:
        """None in runs whose faults or configurations may lose what was acknowledged."""
        share = compaction.SHARE if self.script is None else self.script.compaction
        if changes.allow_losses(changes.draw(self.random_of("what is changed"))):
            share = 0.0
        return compaction.draw(self.random_of("compaction"), share)

    @property
    def may_markers_be_late(self) -> bool:
        return self.plan is None or self.plan.may_markers_be_late

    def random_of(self, name: str) -> random.Random:
        """A generator of its own for each part, so that what one draws changes nothing for another."""
        return random.Random(f"{self.seed}/{name}")

    def disk_s(self) -> float:
        """How long until a disk has brought what was asked of it to safety."""
        return self._disks.uniform(FASTEST_DISK_S, SLOWEST_DISK_S)

    def surroundings(self, life: Life) -> Surroundings:
        """What comes to a broker from outside, in one of its lives."""
        given: dict[str, Any] = {
            "make_engine": life.make_engine,
            "open_store": lambda _: life.store,
            "refuse_missing_store": lambda _: None,  # there is no file
            "now_ms": self.now_ms,
            "make_id": lambda: self._ids.randbytes(16),
            "connect": functools.partial(_Way, self),
            "watch": functools.partial(watch, self),
        }
        return Surroundings(**given)

    # ---- notes
    def time(self) -> float:
        return asyncio.get_running_loop().time()

    def now_ms(self) -> int:
        """The wall clock of all machines."""
        return START_MS + int(self.time() * 1000)

    def note(self, what: str) -> None:
        self.trace.append(f"{self.time():9.6f} {what}")

    def note_leases(self, life: Life, topic_id: bytes, leases: list[Any]) -> None:
        topic = self.topics.all[topic_id]
        for lease in leases:
            key, leader, leader_epoch = topic.key(lease.partition), lease.leader, lease.leader_epoch
            epochs = f"{leader_epoch}.{lease.partition_epoch}"
            self.note(f"{life.node.name} {key}: leader {leader} epoch {epochs} isr {lease.in_sync_replicas}")
            if leader == life.node.node_id:
                self.history.events.append(Led(key, leader_epoch, leader, self.time()))

    def ends_of(self, life: Life) -> dict[str, int]:
        ends: dict[str, int] = {}
        if life.engine is None:
            return ends
        offsets_of = life.engine.real.partition_offsets
        for topic, number in self.topics.places():
            try:
                ends[topic.key(number)] = offsets_of(topic.name, number).log_end_offset
            except EngineError:  # it is not there
                continue
        return ends

    def starts_of(self, life: Life) -> dict[str, int]:
        starts: dict[str, int] = {}
        for topic, number in self.topics.places():
            with suppress(EngineError, AttributeError):  # it is not there
                offsets = life.engine.real.partition_offsets(topic.name, number)  # type: ignore[union-attr]
                starts[topic.key(number)] = offsets.log_start_offset
        return starts

    def note_starts(self, life: Life, before: dict[str, int]) -> None:
        """Logs of which retention has deleted something."""
        for key, start in self.starts_of(life).items():
            if start > before.get(key, start):
                self.note(f"{life.node.name} retains {key} from {start}, before from {before[key]}")

    def note_ends(self, life: Life, before: dict[str, int]) -> None:
        """Logs that were cut."""
        ends = self.ends_of(life)
        for key, end in ends.items():
            if end < before.get(key, 0):
                self.note(f"{life.node.name} cuts {key} from {before[key]} to {end}")
        life.ends = ends

    # ---- what there is
    def marks(self) -> list[str]:
        """Topics whose deletion has not ended."""
        marks = self.tree.nodes.get("/admin/delete_topics")
        return [] if marks is None else list(marks.children)

    def leader_now(self) -> int:
        """Of the first partition; 0 for none."""
        return self._leader_of(self.lasting_topic)

    def coordinator_now(self) -> int:
        """Of some transactional ids; 0 for none."""
        return self._leader_of(transactions.STATE_TOPIC)

    def group_coordinator_now(self) -> int:
        """Of some groups; 0 for none."""
        return self._leader_of(offsets.OFFSETS_TOPIC)

    def _leader_of(self, name: str) -> int:
        """Of the first partition; 0 for none."""
        topic = self.topics.living.get(name)
        state = None if topic is None else self.topics.leadership(topic, 0)
        return state.leader if state is not None and state.leader > 0 else 0

    def controller_now(self) -> int:
        for node in self.nodes.values():
            if node.life is not None and node.life.is_started and node.life.broker.services.controller.is_active:
                return node.node_id
        return 0

    def end(self) -> None:
        """Nothing reaches the data planes any more: what is left of the control planes is thrown away."""
        for node in self.nodes.values():
            if node.is_up:
                node.kill(power=True)

    # ---- faults
    def later(self, delay_s: float, callback: Any, *arguments: Any) -> None:
        in_world(asyncio.get_running_loop().call_later, delay_s, callback, *arguments)

    def kill(self, node: Node, *, power: bool) -> None:
        node.kill(power=power)
        for topic, number in self.topics.places():
            state, before = self.topics.leadership(topic, number), self._crashes.get((topic, number, node.node_id))
            has_lost = power or (before is not None and before.has_lost)
            epoch = -1 if state is None else state.leader_epoch
            self._crashes[topic, number, node.node_id] = _Crash(has_lost, epoch, self._registered(node.node_id))

    def fence(self, node_id: int) -> None:
        """Its registration ends although it lives; it learns of that as it would, and registers again."""
        path = f"/brokers/ids/{node_id}"
        if path in self.tree.nodes:
            self.tree.multi([Delete(path)], 0)

    def start_again(self, node: Node) -> None:
        if not node.is_up and not self.is_over:
            self.note(f"start {node.name}")
            node.start()

    def go_on(self, process: Process) -> None:
        if process.is_stopped:
            self.note(f"{process.name} goes on")
            process.go_on()

    def heal(self) -> None:
        self.note("heal")
        self.network.heal()
        self.network.loss = 0.0
        self.network.late = self.script.late if self.script is not None and self.is_busy else 0.0
        self.network.slowest_s = SLOWEST_S

    def may_crash(self, node_id: int, *, power: bool) -> bool:
        """Whether nothing acknowledged may be lost by it: of each partition a replica is left that has everything, may
        lead, has not crashed since and is heard of, or it would leave the set before those that are dead; or all that
        have crashed have lost nothing."""
        for topic, number in self.topics.places():
            state = self.topics.leadership(topic, number)
            if state is None:  # nothing was ever written there
                continue
            crashed = {one: crash for (*place, one), crash in self._crashes.items() if place == [topic, number]}
            if any(self._is_heard(one) for one in {*state.isr, *state.elr} - {node_id} - crashed.keys()):
                continue
            if power or any(crash.has_lost for crash in crashed.values()):
                return False
        return True

    def watch_states(self) -> None:
        """A replica that crashed is as good as new when it has left the set and is in sync again, or leads since; not
        one that was elected before the controller saw that it is dead, or back in another life."""
        self.topics.look()
        for (topic, number, node_id), crash in list(self._crashes.items()):
            state = self.topics.leadership(topic, number)
            if state is None:
                continue
            if node_id not in (*state.isr, *state.elr):
                crash.has_left = True
            is_back = crash.has_left and node_id in state.isr
            if self._registered(node_id) <= crash.registered:
                crash.leader_epoch = max(crash.leader_epoch, state.leader_epoch)
            leads_since = state.leader == node_id and state.leader_epoch > crash.leader_epoch
            if is_back or (leads_since and self._is_settled(node_id)):
                del self._crashes[topic, number, node_id]

    def _is_heard(self, node_id: int) -> bool:
        """By the store."""
        process, name = self.nodes[node_id].process, self.nodes[node_id].name
        is_reached = self.network.passes(name, STORE) and self.network.passes(STORE, name)
        return process is not None and not process.is_stopped and is_reached and self._registered(node_id) > 0

    def _is_settled(self, node_id: int) -> bool:
        """Whether a controller has drawn the consequences of its last crash: before, it may be elected for a moment."""
        node = self.tree.nodes.get(f"/brokers/ids/{node_id}")
        return node is not None and b'"clean_shutdown":false' not in node.data

    def _registered(self, node_id: int) -> int:
        """When it did so last, by the store's changes; 0 when it is not registered."""
        node = self.tree.nodes.get(f"/brokers/ids/{node_id}")
        return 0 if node is None else node.created

    # ---- the run
    async def play(self) -> None:
        for node in self.nodes.values():
            node.start()
        if not await self._holds(lambda: self.controller_now() != 0 and self.all_started()):
            self.violate("stuck", "the brokers do not start")
            return
        await self._create_topics()
        if self.plan is not None:
            topic, create_task = self.topics.living[self.lasting_topic], asyncio.get_running_loop().create_task
            for client in transactions.clients(self, topic, self.plan):
                self.clients.append(create_task(client.run()))
        for fault in self._draw():
            self.later(max(0.0, fault.begins_s - faults.FAULTS_FROM_S), faults.begin, self, fault)
        await asyncio.sleep(BUSY_S)
        self.is_busy = False
        await self._mend()
        is_whole = await self._holds(self._is_whole)
        self.history.placements += ending.placements(self)  # now: what comes late may take out a member for a while
        if is_whole:
            await ending.read_all(self)
            if self.compaction is not None:
                await compaction.clean_twice(self)
        else:
            self.violate("stuck", ending.why_not_whole(self) or "a client has not ended")
        self.is_over = True
        for task in self._tasks():
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks(), return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    def _draw(self) -> list[Fault]:
        """The faults. Operations begin as they are drawn."""
        draw = faults.draw if self.script is None else self.script.draw
        drawn = draw(self.random_of("faults"), self.node_ids)
        if self.has_operations:
            asked, more = operations.draw(self.random_of("what is asked"), self.node_ids)
            if self.script is not None and self.script.is_back_soon:
                asked = operations.with_ways_back(self.random_of("ways back"), asked)
            for operation in asked:
                self.later(operation.begins_s - faults.FAULTS_FROM_S, self.admin.begin, operation)
            drawn = sorted(drawn + more, key=lambda fault: fault.begins_s)
        if self.script is None or self.script.has_operations:
            for change in changes.draw(self.random_of("what is changed")):
                self.later(change.begins_s - faults.FAULTS_FROM_S, self.changes.begin, change)
        return drawn

    async def _create_topics(self) -> None:
        await self._create_topic(self.lasting_topic, self.partitions)
        if self.has_operations:
            await self._create_topic(self.passing_topic, 1)
        if self.compaction is not None:
            await self._create_topic(compaction.TOPIC, 1, self.compaction.configs)

    async def _create_topic(self, name: str, partitions: int, own: dict[str, str] | None = None) -> None:
        configs = changes.first_configs(self._made) | dict(self.script.configs if self.script else {}) | (own or {})
        asked = NewTopic(name, partitions, 3, configs=configs)
        while name not in self.topics.living:
            controller = self.nodes[self.controller_now() or 1].life
            assert controller is not None
            try:
                await controller.broker.services.controller.create_topic(asked)
            except KafkastoreError:
                await asyncio.sleep(STEP_S)

    def _employ(self, topic: Topic, number: int) -> None:
        """Clients of a partition that has come. In runs with transactions nothing is late before their topics are
        there: a full UpdateMetadata from before a topic would take it away again, until the next full one."""
        has_topics = all(name in self.topics.living for name in transactions.TOPICS)
        if topic.name in transactions.TOPICS and has_topics and self.script is not None and self.is_busy:
            self.network.late = self.script.late
        create_task = asyncio.get_running_loop().create_task
        if self.is_busy and topic.name == compaction.TOPIC:
            keyed = compaction.clients(self, topic, number, self._made)
            self.clients += [create_task(client.run()) for client in keyed]
        if self.is_busy and not topic.is_doomed and topic.name in (self.lasting_topic, self.passing_topic):
            self.clients += [create_task(client.run()) for client in self._clients(topic, number)]

    def _clients(self, topic: Topic, number: int) -> Iterator[Producer | PipelinedProducer | Consumer]:
        is_first = topic.name == self.lasting_topic
        name = str(number) if is_first else topic.key(number)
        for one in range(2 if is_first else 1):
            producer_id = FIRST_ID + 100 * number + one
            kind = self._made.choice((Producer, PipelinedProducer))
            yield kind(self, f"producer-{name}-{one}", topic, number, producer_id=producer_id, gap_s=0.06)
        if is_first:
            yield Producer(self, f"loose-{name}", topic, number, producer_id=-1, gap_s=0.25)
        yield Consumer(self, f"consumer-{name}", topic, number, gap_s=0.1)

    def _tasks(self) -> list[asyncio.Task[None]]:
        return [*self.clients, *self.admin.tasks, *self.changes.tasks]

    async def _mend(self) -> None:
        self._healed_s = self.time()
        self.heal()
        for node in self.nodes.values():
            if node.process is not None:
                self.go_on(node.process)
            self.start_again(node)

    async def _holds(self, condition: Any) -> bool:
        limit = self.time() + SETTLE_S
        while not condition():
            if self.time() > limit:
                return False
            await asyncio.sleep(STEP_S)
        return True

    def all_started(self) -> bool:
        return all(node.life is not None and node.life.is_started for node in self.nodes.values())

    def _is_whole(self) -> bool:
        """And nobody has anything to say any more."""
        unsure_until_s = self.admin.unsure_until_s
        if self.plan is not None:  # what comes late may begin a transaction
            unsure_until_s = max(unsure_until_s, self._healed_s + LATE_S)
        is_quiet = self.time() > unsure_until_s and all(task.done() for task in self._tasks())
        return is_quiet and not ending.why_not_whole(self) and self._has_no_transaction()

    def _has_no_transaction(self) -> bool:
        """Whether all transactions are ended; a transaction that hangs is a violation."""
        open_transaction = ending.open_transaction(self) if self.plan is not None else ""
        if not open_transaction:
            return True
        if self._open_since_s is None:
            self._open_since_s = self.time()
        if self.time() - self._open_since_s <= transactions.HANGING_S:
            return False
        self.violate("hanging", open_transaction)
        return True

    def violate(self, rule: str, what: str) -> None:
        self.violations.append(Violation(rule, "", what))

    def broken_rules(self) -> frozenset[str]:
        """What the faults of the script, or a configuration that was set, may break."""
        broken = frozenset() if self.script is None else self.script.breaks
        if self.has_forgotten_producers:
            broken |= FORGOTTEN
        return broken | LOSSES if self.changes.allows_losses else broken


# ---- what would come from outside
class _Way:
    """How one broker reaches another's control plane: ``interbroker/client.py`` over the simulated network."""

    def __init__(self, world: World, host: str, port: int, client_id: str, dialer: object = None) -> None:
        del dialer  # nobody else is on the simulated network
        self.world = world
        self.host = host
        self.port = port
        self.sender = "broker-" + client_id.rpartition("-")[2]

    async def send(self, request: OutgoingRequest, timeout_ms: int) -> Any:
        node = self.world.nodes[int(self.host.rpartition("-")[2])]

        async def serve() -> Any:
            broker = None if node.life is None else node.life.broker
            return None if broker is None or broker.parts is None else await broker.serve(request)

        try:
            answer = await self.world.network.ask(self.sender, node.name, node.find, serve, timeout_ms / 1000)
        except Lost:
            answer = None
        if answer is None:
            raise BrokerUnreachableError(f"{self.host} does not answer")
        return answer

    async def close(self) -> None:
        return


def _segments(folder: Path) -> Iterator[tuple[str, str]]:
    """Of all logs: (the log's name, the segment's first offset)."""
    for directory, _, names in os.walk(folder):
        for name in names:
            if ".log" in name:
                yield os.path.basename(directory), name[:20]


def run(seed: int, script: Script | None = None) -> Outcome:
    """Plays one seed, with the faults that it draws or those of the script."""
    logging.disable(logging.CRITICAL)
    folder = Path(tempfile.mkdtemp(prefix="simulator-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    loop = VirtualLoop()
    world = World(seed, folder, script)
    try:
        loop.run_until_complete(world.play())
    except Quiescent:
        world.violations.append(Violation("stuck", "", "nothing is scheduled any more"))
    finally:
        world.end()
        loop.close()
        segments = len(set(_segments(folder)))
        shutil.rmtree(folder, ignore_errors=True)
    for failure in loop.failures:
        world.violations.append(Violation("failed", "", f"{failure['message']}: {failure['exception']!r}"))
    broken = world.broken_rules()
    found = [*world.violations, *check(world.history)]
    found += [Violation(*one) for one in broken_by_offsets(world.history.events)]
    found += [Violation(*one) for one in broken_by_compaction(world.compacted)]
    violations = [one for one in found if one.rule not in broken]
    digest = hashlib.sha256("\n".join(world.trace).encode()).hexdigest()
    acknowledged = sum(isinstance(event, Acked) for event in world.history.events)
    leaders = len({(event.partition, event.leader_epoch) for event in world.history.events if isinstance(event, Led)})
    return Outcome(seed, violations, digest, world.trace, acknowledged, leaders, segments)
