"""Applies the controller's requests about this broker's replicas: LeaderAndIsr, StopReplica, UpdateMetadata.

The order within a LeaderAndIsr: fence (controller epoch, broker epoch, leader epoch), create the missing logs, publish
the leases, inform the coordinators. The data plane starts and stops fetching by the leases. Only UpdateMetadata, which
has whole topics, changes what clients see: ``held`` has the partitions that this broker leads or follows, ``image`` the
cluster as clients see it.
Requests are served one after the other: the second waits while the first creates logs. A request of many partitions
gives way to the loop between topics; the rest of the request is refused when the broker has registered anew meanwhile.
A refused partition changes nothing here, and the response has its error code.

Cases of a partition in LeaderAndIsr:

A  This broker is not one of its replicas, another topic has its name, or the topic is known to be deleted: refused.
B  An older leader epoch, or the same one and an older partition epoch: STALE_CONTROLLER_EPOCH, as Kafka answers.
C  Its log directory is offline, or the log cannot be created: KAFKA_STORAGE_ERROR.
D  Any other: the broker leads it, follows its leader, or waits for a leader.

A request that its controller has given up and repeated may still arrive, behind later requests: it must neither bring
back a partition that was removed nor remove a partition that was assigned since.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kafkastore._core import EngineError
from kafkastore.errors import ErrorCode
from kafkastore.interbroker.orders import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, NO_NUMBER
from kafkastore.internal_topics import is_internal
from kafkastore.metadata.image import NO_LEADER, BrokerImage, MetadataImage, PartitionState
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kafkastore._core import Engine
    from kafkastore.interbroker.orders import StoppedReplica
    from kafkastore.log.manager import LogManager
    from kafkastore.metadata.image import TopicImage
    from kafkastore.replica.manager import ReplicaManager

    Key = tuple[str, int]

logger = logging.getLogger("kafkastore.replica.assigned")


MAX_DELETED = 10_000
"""How many deleted topics are remembered; a stale request arrives seconds late."""


class TopicStates(NamedTuple):
    """One topic of a request from the controller."""

    name: str
    topic_id: bytes
    states: Mapping[int, PartitionState]
    new: frozenset[int] = frozenset()
    """Of LeaderAndIsr: the partitions that no broker has had yet."""


class StateReader(Protocol):
    """What is read from the store (``StoredState``)."""

    async def load_configs(self, names: Sequence[str]) -> dict[str, dict[str, str]]: ...

    async def load_partition_count(self, name: str) -> tuple[bytes | None, int] | None: ...


class AssignedReplicas:
    """See the module. Runs on the loop."""

    def __init__(
        self,
        node_id: int,
        image: MetadataImage,
        held: MetadataImage,
        engine: Engine,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        stored: StateReader,
    ) -> None:
        self.node_id = node_id
        self.image = image
        self.held = held
        self.engine = engine
        self.replica_manager = replica_manager
        self.log_manager = log_manager
        self.broker_epoch = -1
        self.on_deleted: Callable[[Sequence[str]], None] = lambda _: None
        """Called with the names of deleted topics; not with topics that a full UpdateMetadata merely does not name."""
        self.on_brokers: Callable[[Iterable[BrokerImage]], None] = lambda _: None
        """Called with the live brokers, at each UpdateMetadata."""
        self._stored = stored
        self._turn = asyncio.Lock()
        self._waiting: list[asyncio.Future[bool]] = []
        self._has_all_topics = False
        self._newest = (0, NO_NUMBER)
        """The controller epoch and the number of the newest request that was taken."""
        self._deleted: dict[bytes, str] = {}
        """The names of topics that a controller has deleted, by topic id; a topic id is never used again."""

    # ---- waiting
    async def wait_until(self, holds: Callable[[], bool], limit_s: float) -> bool:
        """Whether ``holds`` comes true within ``limit_s``; it is called after every request of the controller."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit_s
        while not holds():
            changed: asyncio.Future[bool] = loop.create_future()
            self._waiting.append(changed)
            timer = loop.call_at(deadline, _set_unless_done, changed, False)
            try:
                if not await changed:
                    return holds()
            finally:
                timer.cancel()
        return True

    async def wait_for_metadata(self, limit_s: float) -> bool:
        """Whether the controller sends all topics (a full UpdateMetadata) within ``limit_s``; it sends LeaderAndIsr
        first."""
        return await self.wait_until(lambda: self._has_all_topics, limit_s)

    def leads_anything(self) -> bool:
        return any(state.leader == self.node_id for topic in self.held.topics.values() for state in topic.partitions)

    def resign(self) -> None:
        """Leads no partition from now on, whatever the controller has sent: a producer that waits for an
        acknowledgement here gets an error that sends it to the next leader."""
        for topic in self.held.topics.values():
            led = [number for number, state in enumerate(topic.partitions) if state.leader == self.node_id]
            for number in led:
                topic.partitions[number] = topic.partitions[number]._replace(leader=NO_LEADER)
            if led:
                self.replica_manager.publish_leases(topic, led)
                self.replica_manager.tell(topic)

    def tell_waiting(self) -> None:
        """Something that :meth:`wait_until` may wait for has changed."""
        waiting, self._waiting = self._waiting, []
        for changed in waiting:
            _set_unless_done(changed, True)

    # ---- fences
    def _refusal(self, controller_epoch: int, broker_epoch: int, number: int) -> int:
        """NONE, or the error code with which the request as a whole is refused. Notes the epoch of a newer controller,
        and the number of its newest request."""
        if controller_epoch < self.image.controller_epoch or self._is_overtaken(controller_epoch, number):
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if broker_epoch >= 0 and self.broker_epoch < 0:
            # Not registered yet: the request may be meant for an earlier life of this broker, whose unsynced records
            # are lost. The controller repeats it.
            return ErrorCode.BROKER_NOT_AVAILABLE
        if 0 <= broker_epoch < self.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        self.image.controller_epoch = controller_epoch
        self._newest = max(self._newest, (controller_epoch, number))
        return ErrorCode.NONE

    def _is_overtaken(self, controller_epoch: int, number: int) -> bool:
        """Whether a later request of this controller was taken already: a copy that was long under way must not take
        back what the controller has decided since. A request without a number is never overtaken."""
        return number > 0 and (controller_epoch, number) < self._newest

    # ---- LeaderAndIsr
    async def become(
        self,
        controller_id: int,
        controller_epoch: int,
        broker_epoch: int,
        topics: Sequence[TopicStates],
        leaders: Sequence[BrokerImage] = (),
        *,
        number: int = NO_NUMBER,
    ) -> tuple[int, dict[Key, int]]:
        """Leads and follows the partitions as a LeaderAndIsr says. Returns the error code of the request, and one for
        each partition. ``leaders`` has the addresses of the partitions' leaders, since UpdateMetadata may not have
        named all brokers yet."""
        async with self._turn:
            refusal = self._refusal(controller_epoch, broker_epoch, number)
            if refusal != ErrorCode.NONE:
                return refusal, {}
            self.image.controller_id = controller_id
            self._meet(leaders)
            try:
                errors = await self._become(topics, self._turn_of(controller_epoch, broker_epoch, number))
            except _RefusedError as refused:
                return refused.error_code, {}
            self.tell_waiting()
            return ErrorCode.NONE, errors

    async def _become(self, topics: Sequence[TopicStates], turn: Turn) -> dict[Key, int]:
        errors: dict[Key, int] = {}
        accepted: list[tuple[TopicImage, list[int]]] = []
        configs = await self._configs_of(topics, self.held, self.image)
        async for topic_states in turn.each(topics):
            topic, numbers = self._accept(topic_states, configs, errors)
            if topic is not None and numbers:
                accepted.append((topic, numbers))
        await self._make_missing(accepted, topics)
        async for topic, numbers in turn.each(accepted):
            self._lease(topic, numbers, errors)
        return errors

    def _turn_of(self, controller_epoch: int, broker_epoch: int, number: int) -> Turn:
        """The slices of a request. The request holds the lock, so no other request is served meanwhile; but between two
        slices this broker may lose its session and register anew: the rest of the request is refused then, and must not
        make it lead again."""

        def check() -> None:
            refusal = self._refusal(controller_epoch, broker_epoch, number)
            if refusal != ErrorCode.NONE:
                raise _RefusedError(refusal)

        return Turn(check)

    def _meet(self, leaders: Sequence[BrokerImage]) -> None:
        strangers = [leader for leader in leaders if leader.node_id not in self.image.brokers]
        if strangers:
            self.image.brokers |= {leader.node_id: leader for leader in strangers}
            self.replica_manager.publish_cluster(is_whole=self._has_all_topics)

    async def _configs_of(
        self, topics: Sequence[TopicStates], known: MetadataImage, other: MetadataImage
    ) -> dict[str, dict[str, str]]:
        """The configurations of the topics that are not in ``known``. They are read before the topics are merged: when
        the store is away the request fails here, and its repetition must not create a log without a configuration. The
        configurations in ``other`` are kept up to date as well."""
        found: dict[str, dict[str, str]] = {}
        unknown = []
        for topic_states in topics:
            if _find(known, topic_states) is not None:
                continue
            topic = _find(other, topic_states)
            if topic is None:
                unknown.append(topic_states.name)
            else:
                found[topic_states.name] = topic.configs
        return found | await self._stored.load_configs(unknown) if unknown else found

    async def _meet_internal(self, topics: Sequence[TopicStates]) -> None:
        """Notes how many partitions the internal topics have that this broker meets now. The store tells it: a request
        may lack partitions."""
        for topic_states in topics:
            if is_internal(topic_states.name) and not self.image.has_places(topic_states.topic_id):
                found = await self._stored.load_partition_count(topic_states.name)
                if found is not None and found[0] == topic_states.topic_id:
                    self.image.place_keys(topic_states.topic_id, found[1])

    def _accept(
        self, topic_states: TopicStates, configs: Mapping[str, dict[str, str]], errors: dict[Key, int]
    ) -> tuple[TopicImage | None, list[int]]:
        """Cases A and B. Returns the topic and the accepted partitions, which ``held`` has afterwards."""
        if topic_states.topic_id in self._deleted:
            errors.update({(topic_states.name, number): ErrorCode.UNKNOWN_TOPIC_ID for number in topic_states.states})
            return None, []
        known = self.held.topic(topic_states.name)
        if known is not None and known.topic_id != topic_states.topic_id and self._hosts(topic_states.name):
            errors.update(
                {(topic_states.name, number): ErrorCode.INCONSISTENT_TOPIC_ID for number in topic_states.states}
            )
            return None, []
        mine: dict[int, PartitionState] = {}
        for number, state in topic_states.states.items():
            if self.node_id in state.replicas:
                mine[number] = state
            else:
                errors[topic_states.name, number] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        is_new = known is None or known.topic_id != topic_states.topic_id
        taken = self.held.merge(topic_states.name, topic_states.topic_id, mine)
        topic = self.held.topics[topic_states.name]
        if is_new:
            topic.configs = configs.get(topic_states.name, {})
        for number in mine.keys() - set(taken):
            errors[topic_states.name, number] = ErrorCode.STALE_CONTROLLER_EPOCH
        return topic, taken

    def _hosts(self, name: str) -> bool:
        topic = self.held.topics[name]
        numbers = range(len(topic.partitions))
        return any(self.log_manager.directory_of(name, number) is not None for number in numbers)

    async def _make_missing(
        self, accepted: Sequence[tuple[TopicImage, list[int]]], topics: Sequence[TopicStates]
    ) -> None:
        """Creates the missing logs. While a log directory is offline, a missing log may be in it: then only the logs of
        new partitions are created, since an empty log would replace acknowledged records. The other partitions stay
        offline, and the response says so."""
        new = {topic_states.name: topic_states.new for topic_states in topics}
        wanted = []
        for topic, numbers in accepted:
            missing = [
                number
                for number in numbers
                if self.log_manager.directory_of(topic.name, number) is None
                and (not self.log_manager.failed or number in new[topic.name])
            ]
            if missing:
                wanted.append((topic, missing))
        if wanted and self.log_manager.online:
            for name, number in await self.log_manager.make_logs(wanted):
                self.log_manager.forget_partition(name, number)  # tried again at the next LeaderAndIsr

    def _lease(self, topic: TopicImage, numbers: Sequence[int], errors: dict[Key, int]) -> None:
        """Cases C and D: a partition in case C has no leader here, in case D it gets its lease. Tells the
        coordinators."""
        for number in numbers:
            directory = self.log_manager.directory_of(topic.name, number)
            is_offline = directory is None or directory in self.log_manager.failed
            errors[topic.name, number] = ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.NONE
            if is_offline:
                topic.partitions[number] = topic.partitions[number]._replace(leader=NO_LEADER)
        self.replica_manager.publish_leases(topic, numbers)
        self.replica_manager.tell(topic)

    # ---- StopReplica
    async def stop(
        self, controller_epoch: int, broker_epoch: int, stopped: Sequence[StoppedReplica], *, number: int = NO_NUMBER
    ) -> tuple[int, dict[Key, int]]:
        """Stops serving these replicas, and deletes those with ``is_deleted``. Returns the error code of the request,
        and one for each partition."""
        async with self._turn:
            refusal = self._refusal(controller_epoch, broker_epoch, number)
            if refusal != ErrorCode.NONE:
                return refusal, {}
            try:
                turn = self._turn_of(controller_epoch, broker_epoch, number)
                return ErrorCode.NONE, await self._stop_all(stopped, turn)
            except _RefusedError as refused:
                return refused.error_code, {}

    async def _stop_all(self, stopped: Sequence[StoppedReplica], turn: Turn) -> dict[Key, int]:
        errors: dict[Key, int] = {}
        doomed: dict[str, list[int]] = {}
        # all partitions of a topic at once: a coordinator must not load a partition that stops next
        async for name, of_topic in turn.each(groupby(stopped, lambda one: one.topic)):
            ended: list[int] = []
            for one in of_topic:
                errors[name, one.partition] = self._stop(one, ended)
                if one.is_deleted and errors[name, one.partition] == ErrorCode.NONE:
                    doomed.setdefault(name, []).append(one.partition)
            if ended:
                self.replica_manager.publish_leases(self.held.topics[name], ended)
                self.replica_manager.tell(self.held.topics[name])
        if doomed:
            failed = await self._delete(doomed)
            errors.update({(topic, number): code for topic, code in failed.items() for number in doomed[topic]})
        return errors

    def _stop(self, one: StoppedReplica, ended: list[int]) -> int:
        """Returns the partition's error code. Appends the partition to ``ended`` when this broker is no longer its
        leader or follower."""
        topic = self.held.topics.get(one.topic)
        state = None
        if topic is not None and one.partition < len(topic.partitions):
            state = topic.partitions[one.partition]
        directory = self.log_manager.directory_of(one.topic, one.partition)
        if directory is not None and directory in self.log_manager.failed:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if topic is not None and state is not None and (refusal := self._late_stop(one, topic, state)):
            return refusal
        if topic is None or state is None:
            self._remember_stop(one)
            return ErrorCode.NONE  # nothing to stop; a log on the disk is deleted all the same
        # a request sent before must not bring the partition back: its leader epoch rises to that of the StopReplica
        epoch = max(state.leader_epoch, one.leader_epoch)
        replicas = tuple(replica for replica in state.replicas if replica != self.node_id or not one.is_deleted)
        stopped = state._replace(leader=NO_LEADER, leader_epoch=epoch, replicas=replicas)
        topic.partitions[one.partition] = stopped
        ended.append(one.partition)
        return ErrorCode.NONE

    def _late_stop(self, one: StoppedReplica, topic: TopicImage, state: PartitionState) -> int:
        """The error code of a stale StopReplica; NONE for a StopReplica that is not stale. A replica is removed from a
        partition under a new leader epoch, so a deletion in the epoch in which this broker is a replica was sent before
        it became one. The controller sends the deletion of a topic in UpdateMetadata before it sends StopReplica."""
        is_mine = one.is_deleted and self.node_id in state.replicas
        if one.leader_epoch == EPOCH_DURING_DELETE:
            is_late = is_mine and topic.topic_id not in self._deleted and self._is_of_another(one, topic)
            return ErrorCode.INCONSISTENT_TOPIC_ID if is_late else ErrorCode.NONE
        if 0 <= one.leader_epoch < state.leader_epoch or (is_mine and one.leader_epoch == state.leader_epoch):
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.NONE

    def _is_of_another(self, one: StoppedReplica, topic: TopicImage) -> bool:
        """Whether the deletion of a topic is meant for an earlier topic of the same name: ``topic`` lives, or the
        controller has sent the deletion of the earlier topic."""
        lives = self.image.topic(one.topic)
        return (lives is not None and lives.topic_id == topic.topic_id) or one.topic in self._deleted.values()

    def _remember_stop(self, one: StoppedReplica) -> None:
        """Notes the leader epoch of a StopReplica for a replica that no LeaderAndIsr has named yet."""
        known, held = self.image.topic(one.topic), self.held.topic(one.topic)
        if known is None or one.leader_epoch < 0 or (held is not None and held.topic_id != known.topic_id):
            return
        self.held.merge(
            one.topic, known.topic_id, {one.partition: PartitionState(NO_LEADER, one.leader_epoch, -1, (), ())}
        )
        if held is None:
            self.held.topics[one.topic].configs = known.configs

    async def _delete(self, doomed: Mapping[str, list[int]]) -> dict[str, int]:
        """Deletes partitions of topics in one turn of a thread. Returns the topics that failed with their error
        codes."""
        directory_of = self.log_manager.directory_of
        here = {
            topic: [number for number in numbers if directory_of(topic, number) is not None]
            for topic, numbers in doomed.items()
        }
        failed: dict[str, int] = await asyncio.get_running_loop().run_in_executor(None, _delete_logs, self.engine, here)
        async for topic in Turn().each(here.keys() - failed.keys()):  # without a check: the logs are gone
            for number in here[topic]:
                self.log_manager.forget_partition(topic, number)
            held, known = self.held.topic(topic), self.image.topic(topic)
            if held is not None and (known is None or known.topic_id != held.topic_id):
                self._forget(held)  # these were the last logs of a topic that is gone
        return failed

    def _forget(self, topic: TopicImage) -> None:
        """Removes a topic from ``held``, unless it has logs here: until they are deleted no other topic may have its
        name."""
        held = self.held.topic(topic.name)
        if held is not None and held.topic_id == topic.topic_id and not self._hosts(topic.name):
            self.held.remove_topic(topic.name)

    # ---- UpdateMetadata
    async def update(
        self,
        controller_id: int,
        controller_epoch: int,
        broker_epoch: int,
        brokers: Iterable[BrokerImage],
        topics: Sequence[TopicStates],
        *,
        is_full: bool,
        number: int = NO_NUMBER,
    ) -> int:
        """Takes over the live brokers and the states of topics; clients see them at once. With ``is_full`` the topics
        that are not among ``topics`` are removed. Returns the error code of the request."""
        async with self._turn:
            configs = await self._configs_of(topics, self.image, self.held)
            await self._meet_internal(topics)
            refusal = self._refusal(controller_epoch, broker_epoch, number)
            if refusal != ErrorCode.NONE:
                return refusal
            self.image.controller_id = controller_id
            self.image.brokers = {broker.node_id: broker for broker in brokers}
            self.replica_manager.publish_cluster(is_whole=self._has_all_topics)  # before the topics that they lead
            self.on_brokers(self.image.brokers.values())
            self._note_deletions(topics)
            alive = [topic_states for topic_states in topics if topic_states.topic_id not in self._deleted]
            turn = Turn()  # without a check: what clients see is no lease, so the request is applied to its end
            await self._take_away(topics, turn, is_full=is_full)
            async for some in turn.runs(alive):
                # a topic without states is only listed as one that exists; its states were sent before
                changed = [self._merge(topic_states, configs) for topic_states in some if topic_states.states]
                self.replica_manager.publish_metadata(changed)
            if (
                is_full and not self._has_all_topics
            ):  # with all topics: until then clients wait, instead of seeing a cluster without topics
                self._has_all_topics = True
                self.replica_manager.publish_cluster()
            self.tell_waiting()
            return ErrorCode.NONE

    def _merge(self, topic_states: TopicStates, configs: Mapping[str, dict[str, str]]) -> tuple[TopicImage, set[int]]:
        """The topic, and the partitions to publish to clients: those with a new state, and those that were never
        published, even without a state."""
        self.image.merge(topic_states.name, topic_states.topic_id, topic_states.states)
        topic = self.image.topics[topic_states.name]
        topic.configs = configs.get(topic_states.name, topic.configs)
        numbers = topic_states.states.keys() | range(topic.published, len(topic.partitions))
        topic.published = len(topic.partitions)
        return topic, numbers

    def _note_deletions(self, topics: Sequence[TopicStates]) -> None:
        self._deleted.update(
            {topic_states.topic_id: topic_states.name for topic_states in topics if _is_deletion(topic_states)}
        )
        while len(self._deleted) > MAX_DELETED:
            del self._deleted[next(iter(self._deleted))]

    async def _take_away(self, topics: Sequence[TopicStates], turn: Turn, *, is_full: bool) -> None:
        """Removes the topics that UpdateMetadata marks as deleted, and with ``is_full`` those that it does not name:
        also an earlier topic with the name of one that is marked."""
        doomed = {
            topic_states.name
            for topic_states in topics
            if _is_deletion(topic_states) and _find(self.image, topic_states) is not None
        }
        gone = set(doomed)
        if is_full:
            named = {(topic_states.name, topic_states.topic_id) for topic_states in topics}
            gone |= {name for name, topic in self.image.topics.items() if (name, topic.topic_id) not in named}
        async for names in turn.runs(sorted(gone)):
            removed = [found for name in names if (found := self.image.remove_topic(name)) is not None]
            if removed:
                self.replica_manager.withdraw(removed)
            for topic in removed:
                self._forget(topic)
            deleted = [topic.name for topic in removed if topic.name in doomed]
            if deleted:
                self.on_deleted(deleted)


class _RefusedError(Exception):
    """A request that was accepted must not go on."""

    def __init__(self, error_code: int) -> None:
        super().__init__(error_code)
        self.error_code = error_code


def _delete_logs(engine: Engine, logs: Mapping[str, list[int]]) -> dict[str, int]:
    """Blocking. Returns the topics that failed with their error codes. A deletion is done when it is durable: a start
    after a crash would miss the logs."""
    failed: dict[str, int] = {}
    for topic, numbers in logs.items():
        try:
            engine.delete_logs(topic, numbers)
        except EngineError as error:
            logger.error("Cannot delete the logs of topic %s: %s", topic, error)  # noqa: TRY400 - a sentence says it
            failed[topic] = error.code
    try:
        engine.note_deletions()
    except EngineError as error:
        logger.error("Cannot note deleted logs: %s", error)  # noqa: TRY400 - as above
        failed = dict.fromkeys(logs, error.code) | failed
    return failed


def _is_deletion(topic_states: TopicStates) -> bool:
    return bool(topic_states.states) and all(
        state.leader == LEADER_DURING_DELETE for state in topic_states.states.values()
    )


def _find(image: MetadataImage, topic_states: TopicStates) -> TopicImage | None:
    """The topic itself, not another of its name."""
    topic = image.topic(topic_states.name)
    return topic if topic is not None and topic.topic_id == topic_states.topic_id else None


def _set_unless_done(future: asyncio.Future[bool], result: bool) -> None:
    if not future.done():
        future.set_result(result)
