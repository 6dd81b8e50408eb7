"""Sends the controller's requests to the brokers: one channel for each broker, one request at a time, in order.

A channel keeps the partitions that a pending request is about, not their states: a request is built when it is sent, so
the newest state wins and a burst of changes is one request, or a few of :data:`ROWS` partitions, none of which takes a
broker long. LeaderAndIsr goes first, then UpdateMetadata, then StopReplica (Kafka's order). A request without an answer
is repeated, together with the changes that came meanwhile, as long as the broker keeps its broker epoch, which each
request carries. A channel is dropped, with its pending requests, when the broker dies or the controller resigns.
Channels read the controller's context and never change it.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from kafkastore.errors import ErrorCode, KafkastoreError, error_name
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kafkastore.controller.context import Partition, Topic
    from kafkastore.controller.requests import RequestBuilder
    from kafkastore.interbroker.orders import Order, OrderAnswer
    from kafkastore.metadata.broker_nodes import Registration

    OnAnswer = Callable[[Registration, Order, OrderAnswer], None]
    OpenClient = Callable[[Registration], "ControlClient"]

logger = logging.getLogger("kafkastore.controller.channels")

_FINAL = frozenset((ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.STALE_BROKER_EPOCH))
"""The error codes of a whole answer after which the request is not repeated. A request that fails with any other error
(the broker had lost the store, say) had no effect and may succeed later: it is repeated as one without an answer."""

ROWS: Final = 2000
"""The most partitions of one request: it is built, encoded, decoded and judged in one step each of some 15 ms."""

STOPPED_ROWS: Final = 5000
"""The most partitions of one StopReplica, which has less data for each; a broker writes its checkpoints after each."""

T = TypeVar("T")

RETRY_BACKOFF_S = 0.1
"""Kafka's, between two attempts at a broker that is registered but does not answer."""


class ControlClient(Protocol):
    """How the controller reaches one broker: over a connection, or its own broker by a direct call (``clients.py``)."""

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:
        """The answer. Raises KafkastoreError when there is none."""

    async def close(self) -> None: ...


class _PendingChanges:
    """The changes that are still to be sent to a broker."""

    __slots__ = ("has_brokers", "leader_and_isr", "metadata", "stop", "tells_all_leaders", "tells_all_metadata")

    def __init__(self) -> None:
        self.leader_and_isr: dict[Partition, bool] = {}  # to whether the replica is new on the broker
        self.metadata: dict[Partition, None] = {}
        self.stop: dict[Partition, bool] = {}  # to whether the replica is to be deleted
        self.tells_all_leaders = False
        self.tells_all_metadata = False
        self.has_brokers = False  # an UpdateMetadata is due, if only for the list of brokers

    def add_leaders(self, partitions: Iterable[Partition], *, is_new: bool) -> None:
        new = dict.fromkeys(partitions, is_new)
        _add(self.leader_and_isr, new)
        _drop(self.stop, new)

    def add_stops(self, partitions: Iterable[Partition], *, is_deleted: bool) -> None:
        stopped = dict.fromkeys(partitions, is_deleted)
        _add(self.stop, stopped)
        _drop(self.leader_and_isr, stopped)

    def add_older(self, older: _PendingChanges) -> None:
        """Adds the changes of a request that failed; where the changes here differ, these are newer and prevail."""
        _drop(older.leader_and_isr, self.stop)
        _drop(older.stop, self.leader_and_isr)
        _add(self.leader_and_isr, older.leader_and_isr)
        _add(self.stop, older.stop)
        self.metadata = older.metadata | self.metadata
        self.tells_all_leaders |= older.tells_all_leaders
        self.tells_all_metadata |= older.tells_all_metadata
        self.has_brokers |= older.has_brokers


def _add(flags: dict[Partition, bool], more: dict[Partition, bool]) -> None:
    """Adds ``more`` to ``flags``; a flag that is set stays set. Takes few steps of the interpreter, since there may be
    100,000 partitions."""
    kept = [partition for partition in more.keys() & flags.keys() if flags[partition]] if flags else ()
    flags |= more
    flags |= dict.fromkeys(kept, True)


def _drop(flags: dict[Partition, bool], gone: Mapping[Partition, bool]) -> None:
    for partition in flags.keys() & gone.keys() if flags and gone else ():
        del flags[partition]


class Channel:
    """Sends requests to one broker under one of its broker epochs."""

    def __init__(self, broker: Registration, client: ControlClient, channels: Channels) -> None:
        self.broker = broker
        self.waiting = _PendingChanges()
        self._client = client
        self._channels = channels
        self._wake = asyncio.Event()
        self._trouble = ""
        self._on_sent: list[asyncio.Future[None]] = []  # resolved when the changes in ``waiting`` are sent
        self.task = channels.loop.create_task(self._run())

    def wake(self) -> None:
        self._wake.set()

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                current, self.waiting = self.waiting, _PendingChanges()
                waiters, self._on_sent = self._on_sent, []
                try:
                    await self._tell(current)
                    self._trouble = ""
                    _settle(waiters)
                except KafkastoreError as error:
                    self._say(str(error))
                    await self._retry(current, waiters)
                except Exception:  # a bug must not end the requests to a broker for good
                    logger.exception("Telling broker %d failed", self.broker.node_id)
                    await self._retry(current, waiters)
        finally:
            _settle(self._on_sent)
            await self._client.close()

    def _say(self, trouble: str) -> None:
        """Logs why the broker is not reached, once for each reason."""
        level = logging.DEBUG if trouble == self._trouble else logging.WARNING
        logger.log(level, "Broker %d is not reached: %s", self.broker.node_id, trouble)
        self._trouble = trouble

    async def wait_sent(self, limit_s: float) -> None:
        """Returns when all changes that wait now have been sent, when the channel ends, or after ``limit_s``."""
        sent = self._channels.loop.create_future()
        self._on_sent.append(sent)
        self.wake()
        timer = self._channels.loop.call_later(limit_s, _settle, [sent])
        try:
            await sent
        finally:
            timer.cancel()

    async def _retry(self, current: _PendingChanges, waiters: list[asyncio.Future[None]]) -> None:
        self.waiting.add_older(current)
        self._on_sent += waiters
        self.wake()
        await asyncio.sleep(RETRY_BACKOFF_S)

    async def _tell(self, current: _PendingChanges) -> None:
        """Sends the changes in ``current``, and removes from it those that the broker has answered."""
        await self._tell_leaders(current)
        current.leader_and_isr, current.tells_all_leaders = {}, False
        if current.tells_all_metadata or current.metadata or current.has_brokers:
            await self._send_metadata(current)
        current.metadata, current.tells_all_metadata, current.has_brokers = {}, False, False
        for piece in await _pieces(current.stop, STOPPED_ROWS):
            await self._send(self._channels.builder.stop_replica(self.broker, piece))
        current.stop = {}

    async def _tell_leaders(self, current: _PendingChanges) -> None:
        build = self._channels.builder
        leaders = current.leader_and_isr
        if current.tells_all_leaders:
            on_broker = await build.context.partitions_on(self.broker.node_id, Turn())
            leaders = dict.fromkeys(on_broker, False) | leaders
        pieces = await _pieces(leaders, ROWS)
        for piece in pieces:
            is_full = current.tells_all_leaders and len(pieces) == 1
            await self._send(build.leader_and_isr(self.broker, piece, is_full=is_full))
        if current.tells_all_leaders and not pieces:
            await self._send(build.leader_and_isr(self.broker, {}, is_full=True))

    async def _send_metadata(self, current: _PendingChanges) -> None:
        """Sends UpdateMetadata. When the full metadata takes several requests, a last request names all topics, and the
        broker drops the topics that it does not name."""
        build, is_full = self._channels.builder, current.tells_all_metadata
        metadata = current.metadata
        if is_full:
            metadata = (
                dict.fromkeys([one async for run in Turn().runs(build.context.all_partitions()) for one in run])
                | metadata
            )
        pieces = await _pieces(metadata, ROWS)
        if len(pieces) <= 1:
            await self._send(build.update_metadata(self.broker, pieces[0] if pieces else {}, is_full=is_full))
            return
        for piece in pieces:
            await self._send(build.update_metadata(self.broker, piece, is_full=False))
        if is_full:
            topics = dict.fromkeys([one.topic async for run in Turn().runs(metadata) for one in run])
            await self._send(build.topic_names(self.broker, topics))

    async def _send(self, order: Order) -> None:
        numbered = order._replace(number=next(self._channels.numbers))
        answer = await self._client.send(numbered, self._channels.timeout_ms)
        if answer.error_code not in _FINAL:
            raise KafkastoreError(f"the request as a whole failed with {error_name(answer.error_code)}")
        self._channels.on_answer(self.broker, order, answer)


async def _pieces(partitions: Mapping[Partition, T], rows: int) -> list[dict[Partition, T]]:
    """Splits ``partitions`` into parts of at most ``rows``; the partitions of a topic follow each other."""
    turn = Turn()
    by_topic: dict[Topic, list[Partition]] = {}
    async for run in turn.runs(partitions):
        for partition in run:
            by_topic.setdefault(partition.topic, []).append(partition)
    pieces: list[dict[Partition, T]] = []
    async for run in turn.runs(partition for of_topic in by_topic.values() for partition in of_topic):
        if not pieces or len(pieces[-1]) + len(run) > rows:
            pieces.append({})
        pieces[-1].update((partition, partitions[partition]) for partition in run)
    return pieces


def _settle(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class Channels:
    """The channels of one term of a controller; see the module. Nothing here waits for a broker."""

    def __init__(
        self,
        builder: RequestBuilder,
        open_client: OpenClient,
        on_answer: OnAnswer,
        timeout_ms: int,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.builder = builder
        self.on_answer = on_answer
        self.timeout_ms = timeout_ms
        self.loop = loop
        self.numbers = itertools.count(1)
        """The numbers of requests: a broker takes no request after a later one, whichever of its channels sent it."""
        self._open_client = open_client
        self._channels: dict[int, Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def add(self, broker: Registration) -> None:
        """Opens the channel to a broker that is alive now, and sends it the full state."""
        self.remove(broker.node_id)
        channel = Channel(broker, self._open_client(broker), self)
        self._channels[broker.node_id] = channel
        channel.waiting.tells_all_leaders = channel.waiting.tells_all_metadata = True
        channel.wake()

    def remove(self, node_id: int) -> None:
        channel = self._channels.pop(node_id, None)
        if channel is not None:
            channel.task.cancel()
            self._closing.add(channel.task)
            channel.task.add_done_callback(self._closed)

    def clear(self) -> None:
        for node_id in list(self._channels):
            self.remove(node_id)

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("A channel ended", exc_info=error)

    async def wait_sent(self, node_id: int, limit_s: float) -> None:
        """Returns when all changes that wait for this broker have been sent, or after ``limit_s``; at once when there
        is no channel to it."""
        channel = self._channels.get(node_id)
        if channel is not None:
            await channel.wait_sent(limit_s)

    # ---- changes to send
    async def tell_replicas(self, partitions: Iterable[Partition], *, is_new: bool = False) -> None:
        """Sends LeaderAndIsr of these partitions to their replicas."""
        turn = Turn()
        by_broker: dict[int, list[Partition]] = {}
        async for run in turn.runs(partitions):
            for partition in run:
                for replica in partition.assigned.replicas:
                    by_broker.setdefault(replica, []).append(partition)
        for replica, of_broker in by_broker.items():
            await turn.give_way()
            self.tell_broker(replica, of_broker, is_new=is_new)

    def tell_broker(self, node_id: int, partitions: Iterable[Partition], *, is_new: bool = False) -> None:
        """Sends LeaderAndIsr of these partitions to one broker."""
        channel = self._channels.get(node_id)
        if channel is not None:
            channel.waiting.add_leaders(partitions, is_new=is_new)
            channel.wake()

    async def tell_all(self, partitions: Iterable[Partition] = ()) -> None:
        """Sends UpdateMetadata of these partitions and the live brokers to all brokers."""
        turn = Turn()
        what = dict.fromkeys(partitions)
        for channel in list(self._channels.values()):
            await turn.give_way()
            channel.waiting.metadata |= what
            channel.waiting.has_brokers = True
            channel.wake()

    def stop_replica(self, node_id: int, partitions: Iterable[Partition], *, is_deleted: bool) -> None:
        channel = self._channels.get(node_id)
        if channel is not None:
            channel.waiting.add_stops(partitions, is_deleted=is_deleted)
            channel.wake()
