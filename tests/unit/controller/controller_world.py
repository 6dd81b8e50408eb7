"""Brokers that record the requests of controllers, their controllers, and one store in a file for all of them.

A broker of this world has its own session, refuses old epochs as a broker must, and answers as the test sets it to. It
keeps no log.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kafkastore._core import response_encoder
from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import ControllerSettings
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.order_wire import answer_of, request_of
from kafkastore.interbroker.orders import Order, OrderAnswer
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import BrokerImage
from kafkastore.metadata.leadership import Leadership, decode_leadership
from kafkastore.metadata.nodes import encode_broker
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import NoNodeError

Fields = dict[str, Any]

LIMIT_S = 60.0
LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA = 4, 5, 6
NO_ROWS: dict[int, dict[str, Any]] = {
    LEADER_AND_ISR: {"topics": ()},
    STOP_REPLICA: {"partition_errors": ()},
    UPDATE_METADATA: {},
}


class Taken(NamedTuple):
    """A request as the broker has read it."""

    api_key: int
    message: Any


class World:
    """One cluster."""

    def __init__(self, folder: Path, settings: ControllerSettings) -> None:
        self.path = str(folder / "metadata.sqlite")
        self.settings = settings
        self.brokers: dict[int, WorldBroker] = {}
        self.retired: list[WorldBroker] = []
        self.store = SqliteStore(self.path)  # the test's own

    async def add(self, node_id: int, *, clean: bool = True, controls: bool = True, log_end: int = 0) -> WorldBroker:
        """Starts a broker, or starts it again; ``log_end`` is the log end offset of ``t-0``."""
        broker = WorldBroker(self, node_id)
        if node_id in self.brokers:
            self.retired.append(self.brokers[node_id])
        self.brokers[node_id] = broker
        await broker.start(clean=clean, controls=controls, log_end=log_end)
        return broker

    async def active(self) -> Controller:
        """Waits until exactly one controller is active; returns it."""
        found: list[Controller] = []

        def is_one() -> bool:
            found[:] = [one.controller for one in self.brokers.values() if one.controller and one.controller.is_active]
            return len(found) == 1

        await self.eventually(is_one)
        return found[0]

    async def state(self, topic: str, partition: int = 0) -> Leadership:
        node = await self.store.get(f"/brokers/topics/{topic}/partitions/{partition}/state")
        return decode_leadership(node.data, node.version)

    async def led(self, topic: str, leader: int, partition: int = 0) -> Leadership:
        """Waits until ``leader`` leads in the store and by its broker's last LeaderAndIsr; returns the state."""

        async def is_led() -> bool:
            try:
                state = await self.state(topic, partition)
            except NoNodeError:
                return False
            if state.leader != leader:
                return False
            told = self.brokers[leader].told.get((topic, partition)) if leader != -1 else state
            return told is not None and told.leader_epoch == state.leader_epoch

        await self.eventually(is_led)
        return await self.state(topic, partition)

    async def eventually(self, condition: Callable[[], bool | Coroutine[Any, Any, bool]]) -> None:
        """Waits until the condition holds."""
        deadline = time.monotonic() + LIMIT_S
        while True:
            found = condition()
            if (found if isinstance(found, bool) else await found) is True:
                return
            assert time.monotonic() < deadline, "it did not come true in time"
            await asyncio.sleep(0.01)

    async def quiet(self) -> None:
        """Waits until the active controller and its channels have done their pending work."""
        await (await self.active()).elect_leaders([])
        for _ in range(20):
            await asyncio.sleep(0)

    def count_writes(self, node_id: int) -> list[int]:
        """A list that gets the number of operations of each write of a broker from now on."""
        store = self.brokers[node_id].store
        multi, writes = store.multi, []

        async def counting(operations: Any) -> Any:
            writes.append(len(operations))
            return await multi(operations)

        store.multi = counting  # type: ignore[method-assign]
        return writes

    def epoch_of(self, node_id: int) -> int:
        return self.brokers[node_id].epoch


class WorldBroker:
    """See the module."""

    def __init__(self, world: World, node_id: int) -> None:
        self.world = world
        self.node_id = node_id
        self.store = SqliteStore(world.path, session_timeout_ms=60_000, call_timeout_ms=2000)
        self.controller: Controller | None = None
        self.epoch = 0
        self.is_up = False
        self.is_reachable = True
        self.requests: list[Taken] = []
        self.told: dict[tuple[str, int], Any] = {}  # its replicas, by the last LeaderAndIsr
        self.metadata: dict[tuple[str, int], Any] = {}
        self.live: list[int] = []
        self.deleted: list[tuple[str, int]] = []
        self.broken: set[tuple[str, int]] = set()  # replicas in a failed log directory
        self.refuses_deletion = False
        self.faults: dict[int, int] = {}  # by API key: the error of the next request as a whole
        self.highest_epoch = 0
        self._names: dict[Any, str] = {}

    async def start(self, *, clean: bool, controls: bool, log_end: int = 0) -> None:
        await self.store.connect()
        await self.store.ensure_path("/brokers/ids")
        image = BrokerImage(self.node_id, None, (("PLAINTEXT", f"host-{self.node_id}", 9092),))
        registration = json.loads(encode_broker(image, {"PLAINTEXT": "PLAINTEXT"}, 0))
        path = f"/brokers/ids/{self.node_id}"
        self.is_up = True
        registration |= {"clean_shutdown": clean, "log_ends": {"t": {"0": log_end}}}
        await self.store.create(path, json.dumps(registration).encode(), is_ephemeral=True)
        self.epoch = (await self.store.get(path)).created
        if controls:
            self.controller = Controller(
                self.node_id, self.store, self.open_client, self.world.settings, asyncio.get_running_loop()
            )
            await self.controller.start()

    async def kill(self) -> None:
        """Ends the broker's session and its controller at once, without notice to any other broker."""
        self.is_up = False
        controller, self.controller = self.controller, None
        if controller is not None:
            controller._resign()
            worker = controller._worker
            assert worker is not None
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        await self.store.close()

    async def close(self) -> None:
        self.is_up = False
        if self.controller is not None:
            await self.controller.stop()
            self.controller = None
        await self.store.close()

    def lose_session(self) -> None:
        """As if the broker had slept longer than its session: the others see its nodes go, and the broker does not know
        it yet."""
        with sqlite3.connect(self.world.path) as direct:
            direct.execute("UPDATE sessions SET process = '999999999:1' WHERE id = ?", (self.store.session_id,))
        direct.close()

    # ---- requests of controllers
    def open_client(self, broker: Any) -> WorldClient:
        return WorldClient(self.world, broker.node_id)

    def take(self, request: OutgoingRequest) -> bytes:
        """The body of the answer."""
        taken = Taken(request.api_key, request.decoded())
        self.requests.append(taken)
        error = self._error_of(taken)
        rows = NO_ROWS[taken.api_key] if error else self._carry_out(taken)
        return response_encoder(request.api_key, request.version).row({"error_code": error, **rows})

    def _error_of(self, taken: Taken) -> int:
        """Why the request is refused as a whole, if it is."""
        epoch = taken.message.controller_epoch
        if epoch < self.highest_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        self.highest_epoch = epoch
        if not self.epoch:  # it has registered and does not know its epoch yet; a real broker answers the same
            return ErrorCode.BROKER_NOT_AVAILABLE
        if taken.message.broker_epoch != self.epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        return self.faults.pop(taken.api_key, ErrorCode.NONE)

    def _carry_out(self, taken: Taken) -> Fields:
        """The rows of the answer."""
        work = {LEADER_AND_ISR: self._take_leaders, STOP_REPLICA: self._take_stops, UPDATE_METADATA: self._take_all}
        return work[taken.api_key](taken.message)

    def _take_leaders(self, request: Any) -> Fields:
        topics = []
        for topic in request.topic_states:
            errors = []
            for state in topic.partition_states:
                key = topic.topic_name, state.partition_index
                is_broken = key in self.broken
                if not is_broken:
                    before = self.told.get(key)
                    assert before is None or before.leader_epoch <= state.leader_epoch, (before, state)
                    self.told[key] = state
                code = ErrorCode.KAFKA_STORAGE_ERROR if is_broken else ErrorCode.NONE
                errors.append({"partition_index": key[1], "error_code": code})
            topics.append({"topic_id": topic.topic_id, "partition_errors": errors})
        return {"topics": topics}

    def _take_stops(self, request: Any) -> Fields:
        errors = []
        for topic in request.topic_states:
            for state in topic.partition_states:
                key = topic.topic_name, state.partition_index
                code = ErrorCode.NONE
                if state.delete_partition and self.refuses_deletion:
                    code = ErrorCode.KAFKA_STORAGE_ERROR
                elif state.delete_partition:
                    self.told.pop(key, None)
                    self.deleted.append(key)
                errors.append({"topic_name": key[0], "partition_index": key[1], "error_code": code})
        return {"partition_errors": errors}

    def _take_all(self, request: Any) -> Fields:
        self.live = [broker.id for broker in request.live_brokers]
        for topic in request.topic_states:
            for state in topic.partition_states:
                self.metadata[topic.topic_name, state.partition_index] = state
        return {}

    def count(self, key: int) -> int:
        return sum(request.api_key == key for request in self.requests)


async def lose_directory(broker: WorldBroker, *keys: tuple[str, int]) -> None:
    """Fails the log directory with these partitions; the broker's notice is written as a broker writes it."""
    broker.broken |= set(keys)
    notice = json.dumps({"version": 1, "broker": broker.node_id, "event": 1}).encode()
    await broker.store.create("/log_dir_event_notification/log_dir_event_", notice, is_sequential=True)


class WorldClient:
    """A controller's connection to one broker."""

    def __init__(self, world: World, node_id: int) -> None:
        self.world = world
        self.node_id = node_id

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:
        await asyncio.sleep(0)
        broker = self.world.brokers[self.node_id]
        if not (broker.is_up and broker.is_reachable):
            raise KafkastoreError("unreachable")
        request = request_of(order)
        return answer_of(order, request.response(broker.take(request)))

    async def close(self) -> None:
        return


@asynccontextmanager
async def playing(
    folder: Path, brokers: tuple[int, ...] = (1, 2, 3), settings: ControllerSettings | None = None
) -> AsyncIterator[World]:
    """A world with these brokers, the first of them the controller."""
    world = World(folder, settings or ControllerSettings(min_insync_replicas=2, is_auto_rebalance_enabled=False))
    await world.store.connect()
    try:
        for node_id in brokers:
            await world.add(node_id)
            await world.active()
        await world.eventually(lambda: all(set(one.live) == set(brokers) for one in world.brokers.values()))
        yield world
    finally:
        for broker in world.brokers.values():
            if broker.is_up:
                await broker.close()
        await world.store.close()
