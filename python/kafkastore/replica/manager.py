"""Grants leases to the data plane and appends for the coordinators.

A lease says what this broker may do with a partition. It is made from the image, replaced whole and never edited;
without one the data plane answers NOT_LEADER_OR_FOLLOWER. Coordinators learn here when they become or cease to be in
charge of a partition of their topic. Appends are the engine's, answered by an AppendDone event; this module never sees
a socket or a file.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import EngineError, Lease, PublishedBroker, PublishedPartition, PublishedTopic
from kafkastore.errors import ErrorCode
from kafkastore.metadata.image import NO_CONTROLLER, NO_LEADER, MetadataImage, TopicImage
from kafkastore.replica.low_watermarks import LowWatermarks

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkastore._core import AppendDone, Engine

logger = logging.getLogger("kafkastore.replica.manager")


class AppendResult(NamedTuple):
    """The result of appending one batch; ``error_code`` 0 means that the batch is acknowledged."""

    error_code: int
    base_offset: int = -1
    last_offset: int = -1
    log_append_time_ms: int = -1
    message: str | None = None


class LeadershipListener(NamedTuple):
    """A coordinator's callbacks for one topic's partitions: ``become(partition, leader_epoch)``, ``resign(partition)``.
    They are called on the loop and must not block."""

    become: Callable[[int, int], None]
    resign: Callable[[int], None]


class ReplicaManager:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        held: MetadataImage,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """``held`` has the partitions that this broker leads or follows, ``image`` the cluster as clients see it."""
        self.node_id = node_id
        self.image = image
        self.held = held
        self.engine = engine
        self.loop = loop
        self.low_watermarks = LowWatermarks(engine, loop)
        self._appends: dict[int, Callable[[AppendResult], None]] = {}
        self._listeners: dict[str, LeadershipListener] = {}
        self._starters: dict[str, Callable[[], object]] = {}
        self._leased: dict[bytes, dict[int, int]] = {}
        """Of the coordinators' topics by id: partition -> leader epoch of the lease under which this broker leads it.
        ``held`` names a leader before its log is made."""
        self._led: dict[str, dict[int, int]] = {}  # of topics with a listener: partition -> leader epoch

    # ---- leases
    def publish_leases(self, topic: TopicImage, partitions: Iterable[int]) -> None:
        states = topic.partitions
        self.engine.publish_leases(
            topic.name,
            topic.topic_id,
            [
                Lease(
                    partition=number,
                    leader=state.leader,
                    leader_epoch=state.leader_epoch,
                    partition_epoch=state.partition_epoch,
                    replicas=state.replicas,
                    in_sync_replicas=state.isr,
                )
                for number in partitions
                for state in (states[number],)
            ],
        )
        if topic.is_internal:
            self._note_leases(topic, partitions)

    def _note_leases(self, topic: TopicImage, partitions: Iterable[int]) -> None:
        leased = self._leased.setdefault(topic.topic_id, {})
        for number in partitions:
            state = topic.partitions[number]
            if state.leader == self.node_id:
                leased[number] = state.leader_epoch
            else:
                leased.pop(number, None)
        if not leased:
            del self._leased[topic.topic_id]

    def publish_metadata(self, topics: Sequence[tuple[TopicImage, Iterable[int]]]) -> None:
        """Adds or replaces these partitions of topics in the data plane's answers to Metadata, and where it looks for
        the partition of a key. Coordinators may begin then."""
        self.engine.publish_topics(
            [
                PublishedTopic(
                    name=topic.name,
                    topic_id=topic.topic_id,
                    is_internal=topic.is_internal,
                    keys_over=self.image.keys_over(topic),
                    partitions=[
                        PublishedPartition(
                            partition=number,
                            leader=state.leader,
                            leader_epoch=state.leader_epoch,
                            replicas=state.replicas,
                            in_sync_replicas=state.isr,
                            offline_replicas=state.offline,
                        )
                        for number in partitions
                        for state in (topic.partitions[number],)
                    ],
                )
                for topic, partitions in topics
            ]
        )
        for topic, _ in topics:
            if topic.is_internal:
                self.tell(topic)

    def withdraw(self, topics: Iterable[TopicImage]) -> None:
        """Clients no longer see these topics; their coordinators resign."""
        gone = list(topics)
        self.engine.withdraw_topics([topic.name for topic in gone])
        for topic in gone:
            listener = self._listeners.get(topic.name)
            for partition in self._led.pop(topic.name, {}):
                if listener is not None:
                    listener.resign(partition)

    def publish_cluster(self, *, is_whole: bool = True) -> None:
        """Publishes the brokers and, when all topics are published too (``is_whole``), the controller: clients
        wait while Metadata names no controller."""
        self.engine.publish_cluster(
            [
                PublishedBroker(node_id=broker.node_id, rack=broker.rack, endpoints=broker.listeners)
                for broker in self.image.brokers.values()
            ],
            self.image.controller_id if is_whole else NO_CONTROLLER,
        )
        self.low_watermarks.on_brokers()

    def is_leader(self, topic: str, partition: int) -> bool:
        """Whether this broker leads the partition; False when there is none."""
        state = self.held.partition(topic, partition)
        return state is not None and state.leader == self.node_id

    # ---- coordinators
    def listen(self, topic: str, become: Callable[[int, int], None], resign: Callable[[int], None]) -> None:
        """Calls ``become(partition, leader_epoch)`` for each partition of ``topic`` that this broker leads, now and
        whenever it starts to lead one, and ``resign(partition)`` when it no longer does."""
        self._starters.pop(topic, None)
        self._listeners[topic] = LeadershipListener(become, resign)
        found = self.held.topic(topic)
        if found is not None:
            self.tell(found)

    def start_when_led(self, topic: str, start: Callable[[], object]) -> None:
        """Calls ``start`` once, when this broker leads a partition of ``topic``, unless the topic has a listener by
        then."""
        self._starters[topic] = start
        found = self.held.topic(topic)
        if found is not None:
            self.tell(found)

    def tell(self, topic: TopicImage) -> None:
        """Calls the topic's listener, if any, for each partition that this broker has begun or ceased to lead. Not
        before the topic is published: until then requests do not find the partition of their key."""
        if topic.topic_id not in self.image.topics_by_id:
            return
        leased = self._leased.get(topic.topic_id, {})
        if topic.name in self._starters and leased:
            self._starters[topic.name]()  # calls listen(), which removes this starter and calls tell()
        listener = self._listeners.get(topic.name)
        if listener is None:
            return
        led = self._led.setdefault(topic.name, {})
        for partition in led.keys() - leased.keys():
            del led[partition]
            listener.resign(partition)
        for partition, leader_epoch in leased.items():
            if led.get(partition) != leader_epoch:
                led[partition] = leader_epoch
                listener.become(partition, leader_epoch)

    # ---- appends
    def append(
        self,
        topic: str,
        partition: int,
        batch: bytes,
        required_acks: int,
        timeout_ms: int,
        done: Callable[[AppendResult], None],
    ) -> None:
        """Appends one batch. ``done`` is called once, on the loop, maybe before this returns; never raises for a
        failure."""
        try:
            token = self.engine.append(topic, partition, batch, required_acks, timeout_ms)
        except EngineError as error:
            done(AppendResult(error.code, message=str(error)))
            return
        self._appends[token] = done

    def await_append(self, token: int, done: Callable[[AppendResult], None]) -> None:
        """``done`` is called once with the result of an append that the engine has begun in this step of the loop."""
        self._appends[token] = done

    def on_append_done(self, event: AppendDone) -> None:
        """The engine's answer to an append."""
        done = self._appends.pop(event.token, None)
        if done is not None:
            done(
                AppendResult(
                    event.error_code, event.base_offset, event.last_offset, event.log_append_time_ms, event.message
                )
            )

    # ---- failures
    def take_offline(self, partitions: Mapping[str, Iterable[int]]) -> None:
        """Partitions whose log directory failed have no leader here any more; the topic's other partitions keep
        serving. The controller decides what clients see of it."""
        for name, numbers in partitions.items():
            topic = self.held.topic(name)
            if topic is None:
                continue
            # a partition that is being created, of a topic that grows, is not in ``held`` yet
            known = [number for number in numbers if number < len(topic.partitions)]
            offline = [number for number in known if topic.partitions[number].leader != NO_LEADER]
            for number in offline:
                state = topic.partitions[number]  # in the same leader epoch: the controller gives the next
                topic.partitions[number] = state._replace(leader=NO_LEADER, offline=(self.node_id,))
            self.publish_leases(topic, offline)
            self.tell(topic)

    def fail_appends(self) -> None:
        """At stop: every append that still waits ends with BROKER_NOT_AVAILABLE."""
        appends, self._appends = self._appends, {}
        for done in appends.values():
            try:
                done(AppendResult(ErrorCode.BROKER_NOT_AVAILABLE, message="The broker is stopping."))
            except Exception:  # a bug must not keep the logs from being closed
                logger.exception("The end of an append could not be told")
