"""Brokers that record the requests of controllers, their controllers, and one store in a file for all of them.

A broker of this world has its own session, refuses old epochs as a broker must, and answers as the test sets it to. It
keeps no log.
"""

from __future__ import annotations

import asyncio
import io
import json
import sqlite3
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkastore.controller.controller import Controller
from kafkastore.controller.settings import ControllerSettings
from kafkastore.errors import KafkastoreError
from kafkastore.interbroker.client import response_class_of
from kafkastore.interbroker.order_wire import answer_of, request_of
from kafkastore.metadata.image import BrokerImage
from kafkastore.metadata.leadership import Leadership, decode_leadership
from kafkastore.metadata.nodes import encode_broker
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import NoNodeError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
    from pathlib import Path

    from kafkastore.interbroker.orders import Answer, Order

LIMIT_S = 60.0
LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA = 4, 5, 6


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
        self.requests: list[Any] = []
        self.told: dict[tuple[str, int], Any] = {}  # its replicas, by the last LeaderAndIsr
        self.metadata: dict[tuple[str, int], Any] = {}
        self.live: list[int] = []
        self.deleted: list[tuple[str, int]] = []
        self.broken: set[tuple[str, int]] = set()  # replicas in a failed log directory
        self.refuses_deletion = False
        self.faults: dict[int, ErrorCode] = {}  # by API key: the error of the next request as a whole
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

    def take(self, request: Any) -> Any:
        self.requests.append(request)
        answer = response_class_of(type(request))
        if request.controller_epoch < self.highest_epoch:
            return _empty(answer, ErrorCode.stale_controller_epoch)
        self.highest_epoch = request.controller_epoch
        if not self.epoch:  # it has registered and does not know its epoch yet; a real broker answers the same
            return _empty(answer, ErrorCode.broker_not_available)
        if request.broker_epoch != self.epoch:
            return _empty(answer, ErrorCode.stale_broker_epoch)
        if request.__api_key__ in self.faults:
            return _empty(answer, self.faults.pop(request.__api_key__))
        return {LEADER_AND_ISR: self._take_leaders, STOP_REPLICA: self._take_stops, UPDATE_METADATA: self._take_all}[
            request.__api_key__
        ](request, answer)

    def _take_leaders(self, request: Any, answer: Any) -> Any:
        module = _module(answer)
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
                code = ErrorCode.kafka_storage_error if is_broken else ErrorCode.none
                errors.append(module.LeaderAndIsrPartitionError(partition_index=key[1], error_code=code))
            topics.append(module.LeaderAndIsrTopicError(topic_id=topic.topic_id, partition_errors=tuple(errors)))
        return answer(error_code=ErrorCode.none, topics=tuple(topics))

    def _take_stops(self, request: Any, answer: Any) -> Any:
        module, errors = _module(answer), []
        for topic in request.topic_states:
            for state in topic.partition_states:
                key = topic.topic_name, state.partition_index
                code = ErrorCode.none
                if state.delete_partition and self.refuses_deletion:
                    code = ErrorCode.kafka_storage_error
                elif state.delete_partition:
                    self.told.pop(key, None)
                    self.deleted.append(key)
                errors.append(
                    module.StopReplicaPartitionError(topic_name=key[0], partition_index=key[1], error_code=code)
                )
        return answer(error_code=ErrorCode.none, partition_errors=tuple(errors))

    def _take_all(self, request: Any, answer: Any) -> Any:
        self.live = [broker.id_ for broker in request.live_brokers]
        for topic in request.topic_states:
            for state in topic.partition_states:
                self.metadata[topic.topic_name, state.partition_index] = state
        return answer(error_code=ErrorCode.none)

    def count(self, key: int) -> int:
        return sum(request.__api_key__ == key for request in self.requests)


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

    async def send(self, order: Order, timeout_ms: int) -> Answer:
        await asyncio.sleep(0)
        broker = self.world.brokers[self.node_id]
        if not (broker.is_up and broker.is_reachable):
            raise KafkastoreError("unreachable")
        return answer_of(order, through_bytes(broker.take(through_bytes(request_of(order)))))

    async def close(self) -> None:
        return


def through_bytes(entity: Any) -> Any:
    """The entity after it was written to bytes and read again, as on a connection."""
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return entity_reader(type(entity))(buffer.getvalue(), 0)[0]


def _module(entity_class: Any) -> Any:
    return sys.modules[entity_class.__module__]


def _empty(answer: Any, code: ErrorCode) -> Any:
    arrays = {"topics", "partition_errors"} & set(answer.__dataclass_fields__)
    return answer(error_code=code, **dict.fromkeys(arrays, ()))


@asynccontextmanager
async def _world(folder: Path, settings: ControllerSettings) -> AsyncIterator[World]:
    world = World(folder, settings)
    await world.store.connect()
    try:
        yield world
    finally:
        for broker in world.brokers.values():
            if broker.is_up:
                await broker.close()
        await world.store.close()


def play(
    folder: Path,
    test: Callable[[World], Awaitable[None]],
    brokers: tuple[int, ...] = (1, 2, 3),
    settings: ControllerSettings | None = None,
) -> None:
    """Runs ``test`` in a world with these brokers, the first of them the controller."""

    async def body() -> None:
        chosen = settings or ControllerSettings(min_insync_replicas=2, is_auto_rebalance_enabled=False)
        async with _world(folder, chosen) as world:
            for node_id in brokers:
                await world.add(node_id)
                await world.active()
            await world.eventually(lambda: all(set(one.live) == set(brokers) for one in world.brokers.values()))
            await test(world)

    asyncio.run(body())
