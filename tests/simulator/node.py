"""One broker of the simulation: the real one, control plane and data plane, in a process that can die, stop and come
back.

The control plane is ``kafkastore/server/broker.py`` as it stands, on the simulated store and loop. The data plane is
the compiled engine without threads and sockets (``Steps``): requests, answers of leaders, flushes and deadlines are
brought to it here, one at a time. It decides nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore._simulator import Disk, Steps, simulated_engine

from kafkastore.config import BrokerConfig
from kafkastore.errors import KafkastoreError, StartupError
from kafkastore.server.broker import Broker
from simulator.metadata import SimulatedStore
from simulator.network import FASTEST_S, Lost, break_off, in_world
from simulator.virtual_loop import Process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from simulator.sockets import Connection
    from simulator.world import World

START_MS = 1_700_000_000_000
RANGES = dict.fromkeys(
    ("segment.bytes", "log.segment.bytes", "offsets.topic.segment.bytes", "transaction.state.log.segment.bytes"),
    "[14,...]",
)
"""Kafka's least is 1 MiB."""
FOLLOW_LIMIT_S = 0.5
FOLLOW_BACKOFF_S = 0.05
ASK_LIMIT_S = 2.5
"""How long a broker waits for another one's answer about a transaction; the other one answers within 2 s."""
FOLLOWER_SLEEPS_S = 60.0
"""How long a replica fetcher's thread sleeps at most that has nothing to fetch: longer than a run, so a wake-up that is
lost shows."""
INIT_PRODUCER_ID = 22
"""The API whose requests the control plane hands back."""
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
        self.has_power = True
        """Of the machine: one without it does not even say that nobody listens."""
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
        self.has_power = True
        self.process = process = Process(self.name)
        self.life = Life(self, process, BrokerConfig(dict(self._settings), ranges=RANGES))
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
            self.has_power = False
            self.disk.lose_unsynced()
            return
        for answer in process.owes:  # its host closes the connections
            in_world(asyncio.get_running_loop().call_later, FASTEST_S, break_off, answer)
        for connection in life.connections:
            connection.close()

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
        self.broker = Broker(config, self.world.surroundings(self))
        self.engine: SimulatedEngine | None = None
        self.is_started = False
        self.is_listening = False
        self.connections: list[Connection] = []
        """That others hold open to this process."""
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._followed: dict[int, asyncio.Event] = {}
        self._ends_sleep: asyncio.TimerHandle | None = None
        self.ends: dict[str, int] = {}
        """The log ends when somebody last looked for logs that were cut. Those of followed partitions have not changed
        since: they change when an answer of a leader is taken, or a lease."""
        self._due: set[str] = set()
        """The threads and loops that were woken and have not run since."""

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
        real = simulated_engine(node_id, cluster_id, log_dirs, options, self.node.disk)
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
        """A request of a client or follower to the data plane. None when nothing is answered."""
        if self.engine is None:
            return None
        now_us, now_ms = self.now()
        answer, parked = self.engine.steps.serve(api_key, version, body, now_us, now_ms)
        self.listen_for_bells()
        if parked is None:
            return answer
        token, deadline_us = parked
        waiting = self._waiting[token] = self.loop.create_future()
        if deadline_us is None:  # the control plane has it
            return await waiting
        timer = self.loop.call_at(deadline_us / 1e6, self._expire, token, api_key)
        try:
            return await waiting
        finally:
            timer.cancel()

    def serve_here(self, token: int) -> None:
        """The control plane hands a request back to the data plane."""
        assert self.engine is not None
        answer, parked = self.engine.steps.serve_here(token, *self.now())
        self.listen_for_bells()
        if parked is None:
            self.answer(token, answer)
        elif token in self._waiting:
            number, deadline_us = parked
            self._waiting[number] = self._waiting.pop(token)
            self.loop.call_at(deadline_us / 1e6, self._expire, number, INIT_PRODUCER_ID)

    async def serve_control(self, api_key: int, version: int, client_id: str, body: bytes) -> bytes | None:
        """A request of a client to the control plane, as bytes, on the way that requests come to it. None when there is
        no answer: the connection is closed."""
        if self.engine is None or not self.is_listening:
            return None
        token = self.engine.steps.ask_control_plane(api_key, version, client_id, body)
        waiting = self._waiting[token] = self.loop.create_future()
        self.listen_for_bells()
        return await waiting

    def answer(self, token: int, body: bytes | None) -> None:
        waiting = self._waiting.pop(token, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(body)

    def _expire(self, token: int, api_key: int) -> None:
        """The deadline of a request that waits."""
        assert self.engine is not None
        body, has_waited_in_vain, later_us = self.engine.steps.expire(token, self.now()[0])
        if has_waited_in_vain:
            what = f"{self.node.name} let a request of API {api_key} wait until its time was up for what had come"
            self.world.violate("stalled", what)
        self.listen_for_bells()
        if body is not None:
            self.answer(token, body)
        elif later_us is not None:
            self.loop.call_at(later_us / 1e6, self._expire, token, api_key)

    # ---- who is woken
    def listen_for_bells(self) -> None:
        """After each call of the data plane: whoever it has woken, by the means of the real threads (a mailbox, an
        eventfd, a queue that a thread sleeps at), runs soon. Nobody is asked whether what it waits for has come."""
        if self.engine is None:
            return
        has_mail, has_events, has_flushes, has_moves, has_ends, has_questions, told = self.engine.steps.rung()
        soon, delay_s = self.loop.call_soon, self.world.disk_s
        if has_mail:
            self._wake("mail", soon, self._take_mail)
        if has_events and self.engine.fileno() in self.loop.readers:
            self._wake("events", soon, self._take_events)
        if has_flushes:
            self._wake("flush", self.loop.call_later, delay_s(), self._flush)
        if has_moves:
            self._wake("move", self.loop.call_later, self.world.network.delay(), self._move)
        if has_ends:
            self.wake_ends()
        if has_questions:
            self._wake("questions", soon, self._ask_brokers)
        for source in told:
            if source not in self._followed:
                self._followed[source] = asyncio.Event()
                task = self.loop.create_task(self._follow(source), context=self.process.context.copy())
                task.add_done_callback(self._note_failure)
            self._followed[source].set()

    def _wake(self, who: str, schedule: Any, *arguments: Any) -> None:
        if who not in self._due:
            self._due.add(who)
            *when, work = arguments
            schedule(*when, self._work, who, work, context=self.process.context)

    def _work(self, who: str, work: Callable[[SimulatedEngine], None]) -> None:
        self._due.discard(who)
        assert self.engine is not None
        work(self.engine)
        self.listen_for_bells()

    def _take_mail(self, engine: SimulatedEngine) -> None:
        """What a network loop does when it is woken."""
        for token, answer in engine.steps.take_mail(self.now()[0]):
            self.answer(token, answer)

    def _take_events(self, engine: SimulatedEngine) -> None:
        """What the event loop does when the descriptor is readable."""
        reader = self.loop.readers.get(engine.fileno())
        if reader is not None:
            reader()

    def _flush(self, engine: SimulatedEngine) -> None:
        """What a thread that flushes does."""
        engine.steps.flush_queued()

    def _move(self, engine: SimulatedEngine) -> None:
        """What a thread that moves replicas between log directories does, a piece at a time."""
        engine.steps.move_one()

    # ---- cleaning
    def step_cleaning(self, token: int, began_s: float, ended: asyncio.Future[Any]) -> None:
        """What a cleaner thread does next."""
        assert self.engine is not None
        self.now()
        report = self.engine.steps.step_cleaning(token)
        self.listen_for_bells()
        cleanings = self.world.cleanings
        cleanings.longest_s = max(cleanings.longest_s, self.loop.time() - began_s)
        if report is None:
            self.loop.call_later(cleanings.step_s(), self.step_cleaning, token, began_s, ended)
            return
        where = f"{report.topic}-{report.partition} to {report.end_offset}"
        what = f"{report.read_records} records, {report.kept_records} kept"
        self.world.note(f"{self.node.name} {report.outcome} {where}: {what} {report.reason}")
        if report.outcome != "cleaned" and report.outcome != "stopped":
            self.world.violate("unexpected", f"{self.node.name}: the cleaning of {where} is {report.outcome}")
        ended.set_result(report)

    # ---- transactions
    def wake_ends(self) -> None:
        self._wake("ends", self.loop.call_soon, self._end_transactions)

    def _end_transactions(self, engine: SimulatedEngine) -> None:
        """What the thread that ends transactions does; it sleeps afterwards."""
        until_us = engine.steps.end_transactions(self.now()[0])
        if self._ends_sleep is not None:
            self._ends_sleep.cancel()
        self._ends_sleep = self.loop.call_at(until_us / 1e6, self.wake_ends, context=self.process.context)

    def _ask_brokers(self, engine: SimulatedEngine) -> None:
        """What the threads with the connections to other brokers do."""
        for question in engine.steps.peer_requests():
            task = self.loop.create_task(self._ask_broker(*question), context=self.process.context.copy())
            task.add_done_callback(self._note_failure)

    async def _ask_broker(
        self, token: int, is_marker: bool, node_id: int, api_key: int, version: int, body: bytes
    ) -> None:
        """One request at a time to each broker, as the data plane has it."""
        other = self.world.nodes[node_id]
        lateness = 1.0 if not is_marker or self.world.may_markers_be_late else 0.0
        try:
            answer = await self.world.network.ask(
                self.node.name,
                other.name,
                other.find,
                server_of(other, api_key, version, body),
                ASK_LIMIT_S,
                lateness=lateness,
            )
        except Lost:
            answer = None
        assert self.engine is not None
        self.engine.steps.peer_answered(token, answer)
        self.listen_for_bells()

    # ---- following
    async def _follow(self, source: int) -> None:
        """What the thread of a replica fetcher does."""
        assert self.engine is not None
        steps, changed, leader = self.engine.steps, self._followed[source], self.world.nodes[source]
        while True:
            changed.clear()
            ask, until_us = steps.fetcher_next(source, self.now()[0])
            self.listen_for_bells()
            if ask is None:
                limit_s = self.loop.time() + FOLLOWER_SLEEPS_S
                await self._wait(changed, limit_s if until_us is None else min(limit_s, until_us / 1e6))
                continue
            try:
                body = await self.world.network.ask(
                    self.node.name, leader.name, leader.find, server_of(leader, *ask), FOLLOW_LIMIT_S
                )
            except Lost:
                body = None
            if body is None:
                steps.fetcher_lost(source)
                await self._wait(changed, self.loop.time() + FOLLOW_BACKOFF_S)
                continue
            steps.fetcher_complete(source, body, self.now()[0])
            self.world.note_ends(self, self.ends)
            self.listen_for_bells()

    async def _wait(self, changed: asyncio.Event, until_s: float) -> None:
        """For a change that this thread is told of, until then at most."""
        timer = self.loop.call_at(until_s, changed.set)
        try:
            await changed.wait()
        finally:
            timer.cancel()


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
        found = getattr(self.real, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return found(*arguments, **named)
            finally:
                self.life.listen_for_bells()

        return call

    def fileno(self) -> int:
        number: int = self.real.fileno()
        return number

    def abandon(self) -> None:
        """The process is dead: nothing that is left of it changes a log."""
        self.steps.abandon()
        self.real = None

    def listen(self, wanted: list[tuple[str, str, int]]) -> list[int]:
        self.life.is_listening = True
        return [port for _, _, port in wanted]

    def close_network(self, timeout_ms: int) -> None:
        return

    def serve_here(self, token: int) -> None:
        self.life.serve_here(token)

    def transactions(self) -> SimulatedTransactions:
        return SimulatedTransactions(self.life, self.steps, self.real.transactions())

    def respond(self, answers: list[tuple[int, bytes | None]]) -> None:
        for token, body in answers:
            self.life.answer(token, body)

    def run_retention(self) -> int:
        self.life.now()
        self.life.world.changes.note_retention(self.life)
        before = self.life.world.starts_of(self.life)
        deleted: int = self.real.run_retention()
        self.life.world.note_starts(self.life, before)
        self.life.listen_for_bells()
        return deleted

    def clean_filthiest(self) -> asyncio.Future[Any] | None:
        """Its steps are spread over time, as those of a thread are: everything else comes between them."""
        began_s = self.life.now()[0] / 1e6
        token = self.steps.begin_cleaning()
        self.life.listen_for_bells()
        if token is None:
            return None
        ended: asyncio.Future[Any] = self.life.loop.create_future()
        self.life.loop.call_later(self.life.world.cleanings.step_s(), self.life.step_cleaning, token, began_s, ended)
        return ended

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        if before_offset == -1:
            self.life.world.changes.note_deletion(self.life, topic, partition)
        try:
            start: int = self.real.delete_records(topic, partition, before_offset)
        finally:
            self.life.listen_for_bells()
        return start

    def publish_leases(self, topic: str, topic_id: bytes, leases: list[Any]) -> None:
        before = self.life.world.ends_of(self.life)
        self.steps.publish_leases(topic, topic_id, leases, self.life.now()[0])
        self.life.world.note_leases(self.life, topic_id, leases)
        self.life.world.note_ends(self.life, before)
        self.life.listen_for_bells()

    def shrink_isrs(self) -> None:
        self.steps.shrink_isrs(self.life.now()[0])
        self.life.listen_for_bells()


class SimulatedTransactions:
    """The transactions of a broker as the control plane sees them; no thread is started for them."""

    def __init__(self, life: Life, steps: Steps, real: Any) -> None:
        self.life = life
        self.steps = steps
        self.real = real

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.real, name)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return found(*arguments, **named)
            finally:
                self.life.listen_for_bells()

        return call

    def activate(self, partition: int, number: int) -> None:
        self.life.now()
        self.steps.activate_transactions(partition, number)
        self.life.wake_ends()
        self.life.listen_for_bells()
