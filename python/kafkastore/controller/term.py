"""One term of a controller, from its election to its end: its context, its writes to the store and its channels to the
brokers.

The events (``broker_changes``, ``topic_changes``, ``topic_deletion``, ``alter_partition``, ``elections``) are functions
of a term, run one at a time. A term that is over writes nothing (the store refuses its epoch) and sends nothing (its
channels are gone). An event of many partitions gives way after every few (``Term.turn``). The other events wait in the
queue meanwhile, so the context does not change under it; if the term ends meanwhile, the event ends too.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

from kafkastore.controller import leader_election as rules
from kafkastore.controller.broker_configs import settings_now
from kafkastore.controller.channels import Channels
from kafkastore.controller.context import ControllerContext
from kafkastore.controller.requests import RequestBuilder
from kafkastore.controller.state_writer import StateWriter
from kafkastore.controller.states import PartitionStatus, ReplicaState
from kafkastore.errors import NotControllerError
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Iterable, Sequence

    from kafkastore.controller.channels import OnAnswer, OpenClient
    from kafkastore.controller.context import Partition, Topic
    from kafkastore.controller.settings import ControllerSettings
    from kafkastore.controller.state_writer import Rule
    from kafkastore.controller.watched_store import WatchedStore
    from kafkastore.metadata.broker_nodes import Registration
    from kafkastore.metadata.leadership import Leadership
    from kafkastore.metadata.store import Operation
    from kafkastore.metadata.stored_topics import StoredTopics

TOPIC_NODES = "topic_nodes"
"""The event that looks at topics' nodes, and watches them."""


T = TypeVar("T")

logger = logging.getLogger("kafkastore.controller.states")


class Term:
    """See the module."""

    def __init__(
        self,
        node_id: int,
        epoch: int,
        version: int,
        watched: WatchedStore,
        stored: StoredTopics,
        settings: ControllerSettings,
        open_client: OpenClient,
        on_answer: OnAnswer,
        loop: asyncio.AbstractEventLoop,
        make_id: Callable[[], bytes],
    ) -> None:
        self.node_id = node_id
        self.epoch = epoch
        self.watched = watched
        self.store = watched.store
        self.stored = stored
        self.settings = self._started_with = settings
        self.has_config_changes = settings.has_changes
        self.own_changes: set[str] = set()
        """Nodes of ``/config/changes`` that this controller wrote, for topics."""
        self.noted_changes: set[str] = set()
        """Nodes of ``/config/changes`` whose changes are known here: this controller wrote the node, or has read the
        configuration that it names."""
        self.context = ControllerContext()
        self.writer = StateWriter(self.store, epoch, version, self.turn)
        builder = RequestBuilder(self.context, node_id, epoch, settings.listener)
        self.channels = Channels(builder, open_client, on_answer, settings.request_timeout_ms, loop)
        self.make_id = make_id
        self.is_over = False

    def replace_context(self, context: ControllerContext) -> None:
        """Takes over a context that was read anew. Brokers that were shutting down still are, if they have the same
        broker epoch."""
        for node_id in self.context.shutting_down:
            before, now = self.context.brokers.get(node_id), context.brokers.get(node_id)
            if before is not None and now is not None and before.epoch == now.epoch:
                context.shutting_down.add(node_id)
        self.channels.clear()
        self.context = self.channels.builder.context = context

    def end(self) -> None:
        self.is_over = True
        self.channels.clear()

    # ---- long work
    def turn(self) -> Turn:
        """The slices of an event that walks many partitions. NotControllerError ends it when the term is over."""
        return Turn(self._check)

    def _check(self) -> None:
        if self.is_over:
            raise NotControllerError

    async def each(self, items: Iterable[T], do: Callable[[T], object]) -> None:
        """``do`` for each of many, giving way."""
        async for run in self.turn().runs(items):
            for item in run:
                do(item)

    async def log_topics(self, logger: logging.Logger, done: str, topics: Iterable[str]) -> None:
        """Logs what was done with these topics; a line names some of them, since a line for each of thousands takes
        more time than the change."""
        async for run in self.turn().runs(topics):
            logger.info("%s %s", done, ", ".join(run))

    async def those(self, items: Iterable[T], holds: Callable[[T], object]) -> list[T]:
        """The items for which ``holds`` is true, giving way."""
        return [item async for run in self.turn().runs(items) for item in run if holds(item)]

    async def refresh_settings(self) -> None:
        """To be called before any decision about leaders. Reads the store only when it has dynamic configuration."""
        if self.has_config_changes:
            self.settings = await settings_now(self.store, self.node_id, self._started_with)

    def tell_moves(self) -> None:
        """Logs the state changes of partitions and replicas since the last call, in one line."""
        moves = self.context.moves
        if moves is not None and (line := moves.take()):
            logger.log(logging.DEBUG if self.settings.is_alone else logging.INFO, "Moves: %s", line)

    # ---- deciding
    def min_isr(self, partition: Partition) -> int:
        return self.settings.min_isr(partition.topic.configs)

    def without_elr_rule(self) -> Rule:
        """The rule that keeps the elr valid when min.insync.replicas was lowered: it empties the elr of a partition
        whose isr has the minimum."""

        def rule(partition: Partition) -> Leadership | None:
            state = partition.leadership
            if state is None or not state.elr:
                return None
            minimum = min(self.min_isr(partition), len(partition.replicas))
            return state._replace(elr=()) if len(state.isr) >= minimum else None

        return rule

    def settle_rule(self, restarted: Registration | None = None) -> Rule:
        """The rule that keeps partitions in order: it removes replicas that are offline from the isr, elects a leader
        if a replica can lead, and gives a new partition its first state. ``restarted`` is a broker that came back
        without a clean shutdown."""
        context, settings = self.context, self.settings
        usable = context.usable()
        first: dict[tuple[int, ...], Leadership | None] = {}  # of new partitions: equal replicas share one state

        def rule(partition: Partition) -> Leadership | None:
            state = partition.leadership
            if partition.is_invalid:
                return None
            if restarted is None and state is not None and context.is_in_order(state):
                return None
            able = context.usable_of(partition, usable)
            if state is None:
                replicas = partition.replicas
                if able is not usable:
                    return rules.elect_first(replicas, able)
                if replicas not in first:
                    first[replicas] = rules.elect_first(replicas, usable)
                return first[replicas]
            changed = None
            if restarted is not None and restarted.may_lack(partition.topic.name, partition.number):
                changed = self._after_unclean_restart(partition, state, restarted)
            base = changed or state
            lost = rules.after_loss(
                base,
                partition.replicas,
                able,
                context.gone_of(partition),
                self.min_isr(partition),
                is_unclean_allowed=settings.allows_unclean_election(partition.topic.configs),
            )
            new = lost or changed
            if new is None or new.leader_epoch <= state.leader_epoch:
                return new
            return new._replace(leader_epoch=state.leader_epoch + 1)  # the states between were never published

        return rule

    def _after_unclean_restart(
        self, partition: Partition, state: Leadership, broker: Registration
    ) -> Leadership | None:
        leader = self.context.brokers.get(state.leader)
        is_led = leader is not None and leader is not broker and leader.is_clean  # under the epoch in which it leads
        log_end = broker.log_end(partition.topic.name, partition.number)
        return rules.after_unclean_restart(state, broker.node_id, partition.replicas, log_end, is_led=is_led)

    async def settle(
        self, partitions: Iterable[Partition], restarted: Registration | None = None, first: Sequence[Operation] = ()
    ) -> list[Partition]:
        """Writes the states that :meth:`settle_rule` gives. Returns the partitions that changed; no broker has been
        sent them yet."""
        return await self.update(partitions, self.settle_rule(restarted), first)

    async def update(
        self, partitions: Iterable[Partition], rule: Rule, first: Sequence[Operation] = ()
    ) -> list[Partition]:
        """Writes the states that ``rule`` gives. Returns the partitions that changed; no broker has been sent them
        yet."""
        changed = await self.writer.apply(partitions, rule, first)
        await self.each(changed, self.note_status)
        return changed

    async def tell(self, changed: Sequence[Partition], *, is_new: bool = False) -> None:
        """Sends LeaderAndIsr to the replicas of these partitions, and UpdateMetadata to all brokers."""
        if changed:
            await self.channels.tell_replicas(changed, is_new=is_new)
            await self.channels.tell_all(changed)

    # ---- states
    async def introduce(self, topics: Collection[Topic]) -> None:
        """Adds topics to the context. The states of their partitions follow from the store and the live brokers."""
        await self.each(topics, self._put_topic)
        await self.each((one for topic in topics for one in topic.partitions), self.introduce_partition)

    def _put_topic(self, topic: Topic) -> None:
        self.context.put_topic(topic)
        if not self.settings.is_alone:  # no other client writes the store of a broker that is alone
            self.watched.note(topic.path, TOPIC_NODES)

    def introduce_partition(self, partition: Partition) -> None:
        partition.begin()
        self.context.note_moving(partition)
        self.note_replicas(partition)
        if partition.leadership is not None:
            self.note_status(partition)

    def note_status(self, partition: Partition) -> None:
        state = partition.leadership
        has_leader = state is not None and state.leader in self.context.brokers
        partition.move(PartitionStatus.ONLINE if has_leader else PartitionStatus.OFFLINE)

    def note_replicas(self, partition: Partition) -> None:
        """Moves each replica to ONLINE or OFFLINE, as its broker and its log directory are. Replicas that are being
        deleted keep their state."""
        for replica, current in partition.replica_states.items():
            if current in (ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE):
                is_online = self.context.is_online(partition, replica)
                partition.move_replica(replica, ReplicaState.ONLINE if is_online else ReplicaState.OFFLINE)
