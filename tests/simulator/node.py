"""One broker of the simulation: the real one, control plane and data plane, in a process that can die, stop and come back.

The control plane is ``kafkastore/server/broker.py`` as it stands, on the simulated store and loop. The data plane is the compiled
engine without threads and sockets (``Steps``): requests, answers of leaders, flushes and deadlines are brought to it here, one
at a time. It decides nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore._core import Disk, Engine, Steps
from kafkastore.config import BrokerConfig
from kafkastore.errors import KafkastoreError, StartupError
from kafkastore.server.broker import Broker
from simulator.metadata import SimulatedStore
from simulator.network import FASTEST_S, Lost, break_off, in_world
from simulator.virtual_loop import Process

if TYPE_CHECKING:
    from pathlib import Path

    from simulator.world import World

START_MS = 1_700_000_000_000
FOLLOW_LIMIT_S = 0.5
FOLLOW_BACKOFF_S = 0.05
RESTART_S = 0.3
"""After a start that failed."""


class Node:
    """See the module: all lives of one broker, with its disk."""

    def __init__(self, world: World, node_id: int, folder: Path, settings: dict[str, str], dirs: int = 1) -> None:
        self.world = world
        self.node_id = node_id
        self.name = f"broker-{node_id}"
        self.disk = Disk(START_MS)
        self.process: Process | None = None
        self.life: Life | None = None
        self.lives = 0
        names = [str(node_id), *(f"{node_id}-{number}" for number in range(1, dirs))]
        self.log_dirs = [str(folder / name) for name in names]
        self._settings = {
            "node.id": str(node_id),
            "log.dirs": ",".join(self.log_dirs),
            "listeners": f"PLAINTEXT://{self.name}:9092",
            "kafkastore.metadata.path": str(folder / "store"),
            **settings,
        }

    @property
    def is_up(self) -> bool:
        return self.process is not None

    def start(self) -> None:
        assert self.process is None
        self.lives += 1
        self.process = process = Process(self.name)
        self.life = Life(self, process, BrokerConfig(dict(self._settings)))
        process.context.run(self.life.begin)

    def kill(self, *, power: bool) -> None:
        """The process dies; with ``power`` the machine does, and takes along what was not synced."""
        process, life = self.process, self.life
        assert process is not None
        assert life is not None
        self.process = self.life = None
        process.is_alive = False
        life.end()
        if power:
            self.disk.lose_unsynced()
        else:
            for answer in process.owes:  # its host closes the connections
                in_world(asyncio.get_running_loop().call_later, FASTEST_S, break_off, answer)

    def find(self) -> Process | None:
        return self.process


class Life:
    """One process of a broker."""

    def __init__(self, node: Node, process: Process, config: BrokerConfig) -> None:
        self.node = node
        self.world = node.world
        self.process = process
        self.config = config
        self.loop = asyncio.get_running_loop()
        self.store = SimulatedStore(self.world.tree, self.world.network, node.name, self._run)
        self.broker = Broker(config)
        self.engine: SimulatedEngine | None = None
        self.is_started = False
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._followed: dict[int, asyncio.Event] = {}
        self._is_due = False
        self._is_moving = False

    def _run(self, callback: Any, *arguments: Any) -> None:
        """In the process."""
        self.loop.call_soon(callback, *arguments, context=self.process.context)

    # ---- life
    def begin(self) -> None:
        self.loop.create_task(self._start()).add_done_callback(self._note_failure)

    def _note_failure(self, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.loop.call_exception_handler({"message": f"{self.node.name} does not start", "exception": error})

    async def _start(self) -> None:
        try:
            await self.broker.start()
        except (StartupError, KafkastoreError) as error:
            self.world.note(f"{self.node.name} does not start: {error}")
            in_world(self.loop.call_soon, self._give_up)
        else:
            self.is_started = True
            self.world.note(f"{self.node.name} has started")

    def _give_up(self) -> None:
        if self.node.life is self:
            self.node.kill(power=False)
            in_world(self.loop.call_later, RESTART_S, self.world.start_again, self.node)

    def end(self) -> None:
        if self.engine is not None:
            self.loop.readers.pop(self.engine.fileno(), None)
            self.engine.abandon()

    def make_engine(
        self, node_id: int, cluster_id: str, log_dirs: list[str], options: dict[str, str]
    ) -> SimulatedEngine:
        real = Engine.simulated(node_id, cluster_id, log_dirs, options, self.node.disk)
        self.engine = SimulatedEngine(self, real)
        return self.engine

    # ---- time
    def now(self) -> tuple[int, int]:
        """Microseconds since the beginning, and the wall clock in milliseconds, which the disk's clock is set to."""
        micros = round(self.loop.time() * 1e6)
        now_ms = START_MS + micros // 1000
        self.node.disk.set_time(now_ms)
        return micros, now_ms

    # ---- the data plane
    async def serve(self, api_key: int, version: int, body: bytes) -> bytes | None:
        """A request of a client or follower. None when nothing is answered."""
        if self.engine is None:
            return None
        now_us, now_ms = self.now()
        answer, parked = self.engine.steps.serve(api_key, version, body, now_us, now_ms)
        self.touch()
        if parked is None:
            return answer
        token, deadline_us = parked
        waiting = self._waiting[token] = self.loop.create_future()
        self.loop.call_at(deadline_us / 1e6, self.touch)
        return await waiting

    def touch(self) -> None:
        """Something has changed in the data plane: whoever waits for it is looked at soon."""
        if not self._is_due:
            self._is_due = True
            self._run(self._settle)

    def _settle(self) -> None:
        self._is_due = False
        engine = self.engine
        assert engine is not None
        engine.steps.flush_queued()
        for token, answer in engine.steps.settle(self.now()[0]):
            waiting = self._waiting.pop(token, None)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
        reader = self.loop.readers.get(engine.fileno())
        if reader is not None:
            reader()
        if engine.steps.has_moves() and not self._is_moving:
            self._is_moving = True
            self.loop.call_later(self.world.network.delay(), self._move, context=self.process.context)
        for source in engine.steps.sources():
            if source not in self._followed:
                self._followed[source] = asyncio.Event()
                self.loop.create_task(self._follow(source)).add_done_callback(self._note_failure)
            self._followed[source].set()

    def _move(self) -> None:
        """What a thread that moves replicas between log directories does, a piece at a time."""
        assert self.engine is not None
        self._is_moving = False
        self.engine.steps.move_one()
        self.touch()

    # ---- following
    async def _follow(self, source: int) -> None:
        """What the thread of a replica fetcher does."""
        assert self.engine is not None
        steps, changed, leader = self.engine.steps, self._followed[source], self.world.nodes[source]
        while True:
            changed.clear()
            ask, until_us = steps.fetcher_next(source, self.now()[0])
            if ask is None:
                timer = None if until_us is None else self.loop.call_at(until_us / 1e6, changed.set)
                await changed.wait()
                if timer is not None:
                    timer.cancel()
                continue
            try:
                body = await self.world.network.ask(
                    self.node.name, leader.name, leader.find, server_of(leader, *ask), FOLLOW_LIMIT_S
                )
            except Lost:
                body = None
            if body is None:
                steps.fetcher_lost(source)
                await asyncio.sleep(FOLLOW_BACKOFF_S)
                continue
            before = self.world.ends_of(self)
            steps.fetcher_complete(source, body, self.now()[0])
            self.world.note_ends(self, before)
            self.touch()


def server_of(node: Node, api_key: int, version: int, body: bytes) -> Any:
    async def serve() -> bytes | None:
        return None if node.life is None else await node.life.serve(api_key, version, body)

    return serve


class SimulatedEngine:
    """The engine as the control plane sees it; what needs the time or threads goes through the steps."""

    def __init__(self, life: Life, real: Any) -> None:
        self.life = life
        self.real = real
        self.steps = Steps(real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def abandon(self) -> None:
        """The process is dead: nothing that is left of it changes a log."""
        self.steps.abandon()
        self.real = None

    def listen(self, wanted: list[tuple[str, str, int]]) -> list[int]:
        return [port for _, _, port in wanted]

    def close_network(self, timeout_ms: int) -> None:
        return

    def publish_leases(self, topic: str, topic_id: bytes, leases: list[Any]) -> None:
        before = self.life.world.ends_of(self.life)
        self.steps.publish_leases(topic, topic_id, leases, self.life.now()[0])
        self.life.world.note_leases(self.life, topic_id, leases)
        self.life.world.note_ends(self.life, before)
        self.life.touch()

    def shrink_isrs(self) -> None:
        self.steps.shrink_isrs(self.life.now()[0])
        self.life.touch()

    def withdraw_isr_change(self, topic: str, partition: int, partition_epoch: int) -> None:
        self.real.withdraw_isr_change(topic, partition, partition_epoch)
        self.life.touch()
