"""The controller of a broker: takes part in the elections of the controller and, while it is elected, decides about
topics, partitions and brokers (docs/internals/cluster.md).

Everything runs on one loop. All code that reads or changes the controller's context runs as an event of one queue, one
event at a time: fired watches, answers of brokers, requests. Events that a watch or an answer causes are idempotent:
they read the current state. While the store is unavailable nothing is decided: the event that met the error fails, and
requests get that error. When the store is back, the controller checks that it is still elected, reads everything anew
and goes on. It resigns at once when its session expires, and when a write or another broker shows a newer epoch (H19).

It does no I/O but through the store and the clients that it is given.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.controller import (
    admin_nodes,
    broker_changes,
    campaign,
    elections,
    failover,
    reassignment,
    topic_changes,
    topic_deletion,
    topic_nodes,
)
from kafkastore.controller.event_queue import EventQueue
from kafkastore.controller.paced import PacedEvent
from kafkastore.controller.settings import REBALANCE_DELAY_S
from kafkastore.controller.term import Term
from kafkastore.controller.watched_store import WatchedStore
from kafkastore.errors import ErrorCode, KafkastoreError, NotControllerError, UnknownTopicOrPartitionError
from kafkastore.interbroker.orders import LeaderAndIsr, StopReplica
from kafkastore.metadata.nodes import new_id
from kafkastore.metadata.store import CONNECTED, EXPIRED, SessionExpiredError, StoreError, StoreUnavailableError
from kafkastore.metadata.stored_topics import StoredTopics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from kafkastore.controller.channels import OpenClient
    from kafkastore.controller.context import Topic
    from kafkastore.controller.settings import ControllerSettings
    from kafkastore.interbroker.orders import Order, OrderAnswer
    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.protocol.alter_partition import AlterPartitionRequest
    from kafkastore.topic.new_topic import NewPartitions, NewTopic

T = TypeVar("T")

logger = logging.getLogger("kafkastore.controller")

FIRST_RETRY_S = 0.1
LAST_RETRY_S = 1.0
"""The longest pause between two attempts while the store is unavailable."""


_WATCHED: dict[str, Callable[[Term], Awaitable[Any]]] = {
    "brokers": broker_changes.on_brokers,
    topic_nodes.EVENT: topic_nodes.on_topic_nodes,
    "deletions": topic_deletion.on_deletions,
    "configs": topic_changes.on_configs,
    "log_dirs": broker_changes.on_log_dirs,
    "reassignments": admin_nodes.on_reassignments,
    "elections": admin_nodes.on_elections,
    "invalid": failover.take_over,
    "rebalance": elections.rebalance,
}
"""The function of each event that a watch or the clock causes; an event that waits already is not queued again."""

_PACED: dict[str, Callable[[Term], Awaitable[Any]]] = {"topics": topic_changes.on_topics}
"""The same, of events that come with each creation and deletion and cost more the more topics there are."""


class Controller:
    """See the module. ``start`` and ``stop`` run once each. ``open_client`` opens the client to a broker, its own
    included. ``now_ms`` and ``make_id`` (of topics) are the only inputs besides the loop and the store. ``stored`` may
    have read the topics in the store already."""

    def __init__(
        self,
        node_id: int,
        store: MetadataStore,
        open_client: OpenClient,
        settings: ControllerSettings,
        loop: asyncio.AbstractEventLoop,
        now_ms: Callable[[], int] = lambda: int(time.time() * 1000),
        make_id: Callable[[], bytes] = new_id,
        stored: StoredTopics | None = None,
    ) -> None:
        self.node_id = node_id
        self.controller_id = -1
        """The node id of the controller, as far as this broker knows; -1 when it knows none."""
        self.on_elected: Callable[[int], None] = lambda _: None
        """Called with the node id of each new controller, with -1 when there is none."""
        self._store = store
        self._stored = stored or StoredTopics(store)
        self._open_client = open_client
        self._settings = settings
        self._loop = loop
        self._now_ms = now_ms
        self._make_id = make_id
        self._term: Term | None = None
        self._seat_watch = WatchedStore(store, lambda _: self._look_again())
        self._must_look = False
        self._wake = asyncio.Event()
        self._events = EventQueue(loop, self._wake.set)
        self._paced = {name: PacedEvent(loop, run, partial(self._put_watched, name)) for name, run in _PACED.items()}
        self._after_event: list[asyncio.Future[bool]] = []
        """The futures of callers that wait until the next event has run."""
        self._worker: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._retry_s = FIRST_RETRY_S
        self._must_reload = False

    # ---- life
    @property
    def is_active(self) -> bool:
        return self._term is not None

    def is_own_change(self, node: str) -> bool:
        """Whether this controller wrote the node of this name below ``/config/changes``, for topics."""
        return self._term is not None and node in self._term.own_changes

    @property
    def epoch(self) -> int:
        """The epoch of this controller's term; 0 when this broker is not the controller."""
        return self._term.epoch if self._term is not None else 0

    async def start(self) -> None:
        """Takes part in elections from now on; the store must be connected."""
        self._store.listen(self._on_session)
        self._look_again()
        self._worker = self._loop.create_task(self._run())

    async def stop(self) -> None:
        """Resigns, so that another broker can take over at once."""
        for paced in self._paced.values():
            paced.stop()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)
        term = self._term
        self._resign()
        if term is not None:
            await term.channels.wait_closed()
            await campaign.leave(self._store, term.writer.check.version)

    # ---- requests: each raises NotControllerError, or the store's error when it is away
    async def create_topics(self, requested: Sequence[NewTopic]) -> list[Topic | KafkastoreError]:
        """Returns for each topic the topic, or its error. Raises the store's error when it refuses the whole write."""
        return await self._ask("create_topics", lambda term: topic_changes.create_topics(term, requested))

    async def create_topic(self, requested: NewTopic) -> Topic:
        """Creates one topic. Raises its error."""
        (made,) = await self.create_topics([requested])
        if isinstance(made, KafkastoreError):
            raise made
        return made

    async def create_partitions(self, requested: Sequence[NewPartitions]) -> list[KafkastoreError | None]:
        """Returns for each topic None, or its error. Raises the store's error when it refuses the whole write."""
        return await self._ask("create_partitions", lambda term: topic_changes.create_partitions(term, requested))

    async def set_topic_configs(
        self, requested: Mapping[str, Mapping[str, str]]
    ) -> dict[str, UnknownTopicOrPartitionError]:
        """Replaces the configuration of the topics. Returns the topics that do not exist, with their errors."""
        return await self._ask("set_topic_configs", lambda term: topic_changes.set_topic_configs(term, requested))

    async def delete_topics(self, names: Sequence[str]) -> list[Topic | KafkastoreError]:
        """Returns when the deletions are decided; see :meth:`wait_deleted`."""
        return [*await self._ask("delete_topics", lambda term: topic_deletion.delete_topics(term, names))]

    async def delete_topic(self, name: str) -> Topic:
        """Deletes one topic. Raises its error."""
        (topic,) = await self.delete_topics([name])
        if isinstance(topic, KafkastoreError):
            raise topic
        return topic

    async def wait_deleted(self, topics: Iterable[Topic], limit_s: float) -> list[Topic]:
        """Waits until these topics are deleted, at most ``limit_s``. Does not wait for replicas on brokers that are not
        alive. Returns the topics of which a live broker could not delete a replica."""
        deadline = self._loop.time() + limit_s
        for topic in topics:
            while self._term is not None and topic_deletion.is_under_way(self._term, topic):
                changed = self._loop.create_future()
                self._after_event.append(changed)
                timer = self._loop.call_at(deadline, _set_unless_done, changed, False)
                try:
                    if not await changed:
                        break
                finally:
                    timer.cancel()
        term = self._term
        return [] if term is None else [topic for topic in topics if topic_deletion.has_failed(term, topic)]

    async def wait_sent(self, node_id: int, limit_s: float) -> None:
        """Returns when the requests about all decisions so far have been sent to this broker, or after ``limit_s``."""
        if self._term is not None:
            await self._term.channels.wait_sent(node_id, limit_s)

    async def elect_leaders(
        self, partitions: Sequence[tuple[str, int]] | None, *, is_unclean: bool = False
    ) -> dict[tuple[str, int], int]:
        return await self._ask(
            "elect_leaders", lambda term: elections.elect_leaders(term, partitions, is_unclean=is_unclean)
        )

    async def controlled_shutdown(self, broker_id: int, broker_epoch: int) -> list[tuple[str, int]]:
        return await self._ask("controlled_shutdown", lambda term: elections.shut_down(term, broker_id, broker_epoch))

    async def fence_broker(self, node_id: int) -> None:
        """Ends the registration of a broker whose process is gone."""
        await self._ask("fence_broker", lambda term: broker_changes.fence(term, node_id))

    async def alter_reassignments(
        self, requested: Mapping[tuple[str, int], Sequence[int] | None], *, allows_factor_change: bool = True
    ) -> dict[tuple[str, int], KafkastoreError | None]:
        return await self._ask(
            "alter_reassignments",
            lambda term: admin_nodes.alter_reassignments(term, requested, allows_factor_change=allows_factor_change),
        )

    async def reassignments(self) -> dict[tuple[str, int], ReplicaAssignment]:
        return await self._ask("reassignments", reassignment.under_way)

    async def alter_partition(self, request: AlterPartitionRequest) -> dict[str, Any]:
        """The fields of the answer to a request of version 2 or 3; raises only when the store is unavailable."""
        from kafkastore.controller import alter_partition  # which a broker that is alone never needs

        if self._term is None:
            return alter_partition.error_answer(request, ErrorCode.NOT_CONTROLLER)
        try:
            answer: dict[str, Any] = await self._events.ask_together(request, alter_partition.alter_partitions)
        except NotControllerError:
            return alter_partition.error_answer(request, ErrorCode.NOT_CONTROLLER)
        return answer

    async def _ask(self, name: str, run: Callable[[Term], Awaitable[T]]) -> T:
        if self._term is None:
            raise NotControllerError
        return await self._events.ask(name, run)

    # ---- events
    def _enqueue_watched(self, name: str) -> None:
        paced = self._paced.get(name)
        if paced is None:
            self._put_watched(name, _WATCHED[name])
        else:
            paced.tell()

    def _put_watched(self, name: str, run: Callable[[Term], Awaitable[Any]]) -> None:
        if self._term is not None:
            self._events.put_once(name, run)

    def _look_again(self) -> None:
        self._must_look = True
        self._wake.set()

    async def _run(self) -> None:
        while True:
            if not (self._must_look or self._must_reload or self._events):
                self._wake.clear()
                await self._wake.wait()
            try:
                await self._step()
                self._retry_s = FIRST_RETRY_S
            except (NotControllerError, SessionExpiredError):
                self._resign()
                self._must_look = self._store.session_id != 0
            except StoreUnavailableError as error:
                logger.warning("The metadata store is away: %s", error)
                await self._wait_to_retry()
            except Exception:  # a bug in one event must not end the controller
                logger.exception("An event of the controller failed")
                await self._wait_to_retry()

    async def _wait_to_retry(self) -> None:
        self._must_reload = self._term is not None
        self._must_look = self._must_look or self._term is None
        delay_s, self._retry_s = self._retry_s, min(self._retry_s * 2, LAST_RETRY_S)
        await asyncio.sleep(delay_s)

    async def _step(self) -> None:
        if self._must_look:
            self._must_look = False
            try:
                await self._look()
            except StoreError:
                self._must_look = self._store.session_id != 0
                raise
        elif self._must_reload:
            await self._reload()
        elif self._term is None:
            self._events.refuse_all(NotControllerError())
        elif self._events:
            term = self._term
            await self._events.run_next(term)
            if term.context.moving and not term.is_over:
                await reassignment.advance(term)
            if term.context.reassign_node is not None and not term.is_over:
                await admin_nodes.settle_reassignments(term)
            term.tell_moves()
            self._tell_waiting()

    def _tell_waiting(self) -> None:
        waiting, self._after_event = self._after_event, []
        for changed in waiting:
            _set_unless_done(changed, True)

    # ---- the seat
    async def _look(self) -> None:
        """Reads which broker is the controller. Runs for election when there is none."""
        seat = await campaign.look(self._seat_watch)
        if seat.holder == -1:
            self._resign()
            await campaign.run(self._store, self._stored, self.node_id, self._now_ms())
            seat = await campaign.look(self._seat_watch)
        term = self._term
        if term is not None and not (seat.is_mine and seat.version == term.writer.check.version):
            self._resign()
        if seat.is_mine and self._term is None:
            self._begin(seat)
        if seat.is_mine and seat.holder != self.node_id:
            await campaign.sign(self._store, self.node_id, self._now_ms())
        if seat.is_mine or seat.holder != campaign.UNKNOWN:
            self._note_controller(self.node_id if seat.is_mine else seat.holder)

    def _begin(self, seat: campaign.ControllerSeat) -> None:
        self._say("Broker %d is the controller, epoch %d", self.node_id, seat.epoch)
        watched = WatchedStore(self._store, lambda name: self._on_watch(term, name))
        term = Term(
            self.node_id,
            seat.epoch,
            seat.version,
            watched,
            self._stored,
            self._settings,
            self._open_client,
            lambda broker, order, answer: self._on_answer(term, broker, order, answer),
            self._loop,
            self._make_id,
        )
        self._term = term
        self._must_reload = True
        if self._settings.is_auto_rebalance_enabled:
            self._timer = self._loop.call_later(REBALANCE_DELAY_S, self._on_timer)

    def _say(self, message: str, *values: int) -> None:
        logger.log(logging.DEBUG if self._settings.is_alone else logging.INFO, message, *values)

    async def _reload(self) -> None:
        term = self._term
        if term is not None:
            await term.writer.ensure_epoch()
            await failover.take_over(term)
            term.tell_moves()
        self._must_reload = False

    def _resign(self) -> None:
        term, self._term = self._term, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._must_reload = False
        if term is None:
            return
        self._say("Broker %d is no longer the controller of epoch %d", self.node_id, term.epoch)
        term.end()
        self._events.refuse_all(NotControllerError())
        self._tell_waiting()

    def _note_controller(self, holder: int) -> None:
        if holder != self.controller_id:
            self.controller_id = holder
            self.on_elected(holder)

    # ---- callbacks of the session, the watches, the timer and the clients; called on the loop at any time
    def _on_session(self, state: str) -> None:
        if state == EXPIRED:
            self._resign()
            self._note_controller(-1)
            self._seat_watch = WatchedStore(self._store, lambda _: self._look_again())
        elif state == CONNECTED:
            self._look_again()

    def _on_watch(self, term: Term, name: str) -> None:
        if not term.is_over:
            term.has_config_changes |= name == "configs"  # events that run before this one must see it too
            self._enqueue_watched(name)

    def _on_timer(self) -> None:
        self._timer = self._loop.call_later(self._settings.imbalance_check_interval_s, self._on_timer)
        self._enqueue_watched("rebalance")

    def _on_answer(self, term: Term, broker: Registration, order: Order, answer: OrderAnswer) -> None:
        if term.is_over:
            return
        if answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH:
            logger.warning("Broker %d knows of a newer controller", broker.node_id)
            self._events.put_once("epoch", lambda term: term.writer.ensure_epoch())
        elif answer.error_code == ErrorCode.STALE_BROKER_EPOCH:
            self._enqueue_watched("brokers")
        if isinstance(order, LeaderAndIsr):
            if broker_changes.has_news(term, broker, answer):
                self._events.put(
                    "answer", lambda term: broker_changes.on_leader_and_isr_answer(term, broker, order, answer)
                )
        elif isinstance(order, StopReplica):
            self._events.put("stopped", lambda term: topic_deletion.on_stop_replica_answer(term, broker, order, answer))


def _set_unless_done(future: asyncio.Future[bool], result: bool) -> None:
    if not future.done():
        future.set_result(result)
