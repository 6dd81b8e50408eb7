"""The way to each broker: what it has not been told yet, told in order, one request at a time.

What waits is which partitions to tell of, not what: a request is built when it is sent, so the newest state wins and a burst
of changes is one request. Of what waits, LeaderAndIsr goes first, then UpdateMetadata, then StopReplica (Kafka's order). A
request without an answer is repeated, with what has come meanwhile, for as long as the broker lives in the life that it was
meant for; each request carries that life's epoch. A channel is dropped, with all that waits, when the broker dies or the
controller resigns. Channels read what the controller knows and never change it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from kafkastore.errors import ErrorCode, KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkastore.controller.context import Partition
    from kafkastore.controller.requests import RequestBuilder
    from kafkastore.interbroker.orders import Answer, Order
    from kafkastore.metadata.broker_nodes import Registration

    OnAnswer = Callable[[Registration, Order, Answer], None]
    OpenClient = Callable[[Registration], "Client"]

logger = logging.getLogger("kafkastore.controller.channels")

_FINAL = frozenset((ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH, ErrorCode.STALE_BROKER_EPOCH))
"""Of a request as a whole. Any other error (its way to the store was away, say) took no effect and says nothing of why for
good: it is as no answer."""

RETRY_BACKOFF_S = 0.1
"""Kafka's, between two attempts at a broker that is registered but does not answer."""


class Client(Protocol):
    """How one broker is reached: over a connection, or by a direct call for one's own (``clients.py``)."""

    async def send(self, order: Order, timeout_ms: int) -> Answer:
        """The answer. Raises KafkastoreError when there is none."""

    async def close(self) -> None: ...


class _Waiting:
    """What a broker has not been told yet."""

    __slots__ = ("has_brokers", "leader_and_isr", "metadata", "stop", "tells_all_leaders", "tells_all_metadata")

    def __init__(self) -> None:
        self.leader_and_isr: dict[Partition, bool] = {}  # to: is it new there
        self.metadata: dict[Partition, None] = {}
        self.stop: dict[Partition, bool] = {}  # to: is it deleted
        self.tells_all_leaders = False
        self.tells_all_metadata = False
        self.has_brokers = False  # an UpdateMetadata is due, if only for the list of brokers

    def add_leader(self, partition: Partition, *, is_new: bool) -> None:
        self.leader_and_isr[partition] = is_new or self.leader_and_isr.get(partition, False)
        self.stop.pop(partition, None)

    def add_stop(self, partition: Partition, *, is_deleted: bool) -> None:
        self.stop[partition] = is_deleted or self.stop.get(partition, False)
        self.leader_and_isr.pop(partition, None)

    def add_older(self, older: _Waiting) -> None:
        """What was not told after all; what is newer prevails."""
        for partition, is_new in older.leader_and_isr.items():
            if partition not in self.stop:
                self.add_leader(partition, is_new=is_new)
        for partition, is_deleted in older.stop.items():
            if partition not in self.leader_and_isr:
                self.add_stop(partition, is_deleted=is_deleted)
        self.metadata = older.metadata | self.metadata
        self.tells_all_leaders |= older.tells_all_leaders
        self.tells_all_metadata |= older.tells_all_metadata
        self.has_brokers |= older.has_brokers


class Channel:
    """The way to one broker in one of its lives."""

    def __init__(self, broker: Registration, client: Client, channels: Channels) -> None:
        self.broker = broker
        self.waiting = _Waiting()
        self._client = client
        self._channels = channels
        self._wake = asyncio.Event()
        self._on_told: list[asyncio.Future[None]] = []  # of those who wait for what waits here now
        self.task = channels.loop.create_task(self._run())

    def wake(self) -> None:
        self._wake.set()

    async def _run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                self._wake.clear()
                current, self.waiting = self.waiting, _Waiting()
                on_told, self._on_told = self._on_told, []
                try:
                    await self._tell(current)
                    _settle(on_told)
                except KafkastoreError as error:
                    logger.debug("Broker %d is not reached: %s", self.broker.node_id, error)
                    await self._retry(current, on_told)
                except Exception:  # a bug must not silence the way to a broker for good
                    logger.exception("Telling broker %d failed", self.broker.node_id)
                    await self._retry(current, on_told)
        finally:
            _settle(self._on_told)
            await self._client.close()

    async def wait_told(self, limit_s: float) -> None:
        """Returns when the broker has been told what waits now, when the channel ends, or after ``limit_s``."""
        told = self._channels.loop.create_future()
        self._on_told.append(told)
        self.wake()
        timer = self._channels.loop.call_later(limit_s, _settle, [told])
        try:
            await told
        finally:
            timer.cancel()

    async def _retry(self, current: _Waiting, on_told: list[asyncio.Future[None]]) -> None:
        self.waiting.add_older(current)
        self._on_told += on_told
        self.wake()
        await asyncio.sleep(RETRY_BACKOFF_S)

    async def _tell(self, current: _Waiting) -> None:
        """Forgets from ``current`` what the broker was told."""
        build = self._channels.builder
        context = build.context
        if current.tells_all_leaders:
            on_broker = dict.fromkeys(context.partitions_on(self.broker.node_id), False)
            everything = on_broker | current.leader_and_isr
            await self._send(build.leader_and_isr(self.broker, everything, is_full=True))
        elif current.leader_and_isr:
            await self._send(build.leader_and_isr(self.broker, current.leader_and_isr, is_full=False))
        current.leader_and_isr, current.tells_all_leaders = {}, False
        if current.tells_all_metadata:
            all_metadata = dict.fromkeys(context.partitions()) | current.metadata
            await self._send(build.update_metadata(self.broker, all_metadata, is_full=True))
        elif current.metadata or current.has_brokers:
            await self._send(build.update_metadata(self.broker, current.metadata, is_full=False))
        current.metadata, current.tells_all_metadata, current.has_brokers = {}, False, False
        if current.stop:
            await self._send(build.stop_replica(self.broker, current.stop))
        current.stop = {}

    async def _send(self, order: Order) -> None:
        answer = await self._client.send(order, self._channels.timeout_ms)
        if answer.error_code not in _FINAL:
            raise KafkastoreError(f"the request as a whole failed with error {answer.error_code}")
        self._channels.on_answer(self.broker, order, answer)


def _settle(futures: Iterable[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


class Channels:
    """The channels of one term of a controller; see the module. Nothing here waits."""

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
        self._open_client = open_client
        self._channels: dict[int, Channel] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def add(self, broker: Registration) -> None:
        """A broker that is alive now; it is told everything."""
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

    async def wait_told(self, node_id: int, limit_s: float) -> None:
        """Returns when this broker has been told what waits for it, at once without a channel to it."""
        channel = self._channels.get(node_id)
        if channel is not None:
            await channel.wait_told(limit_s)

    # ---- what to tell
    def tell_replicas(self, partitions: Iterable[Partition], *, is_new: bool = False) -> None:
        """LeaderAndIsr of these partitions, to their replicas."""
        touched: dict[Channel, None] = {}
        for partition in partitions:
            for replica in partition.assigned.replicas:
                channel = self._channels.get(replica)
                if channel is not None:
                    channel.waiting.add_leader(partition, is_new=is_new)
                    touched[channel] = None
        for channel in touched:
            channel.wake()

    def tell_broker(self, node_id: int, partitions: Iterable[Partition], *, is_new: bool = False) -> None:
        """LeaderAndIsr of these partitions, to one broker."""
        channel = self._channels.get(node_id)
        if channel is not None:
            for partition in partitions:
                channel.waiting.add_leader(partition, is_new=is_new)
            channel.wake()

    def tell_all(self, partitions: Iterable[Partition] = ()) -> None:
        """UpdateMetadata of these partitions and the live brokers, to all."""
        what = dict.fromkeys(partitions)
        for channel in self._channels.values():
            channel.waiting.metadata |= what
            channel.waiting.has_brokers = True
            channel.wake()

    def stop_replica(self, node_id: int, partitions: Iterable[Partition], *, is_deleted: bool) -> None:
        channel = self._channels.get(node_id)
        if channel is not None:
            for partition in partitions:
                channel.waiting.add_stop(partition, is_deleted=is_deleted)
            channel.wake()
