"""Creates, grows, moves, configures and deletes topics: the one way for handlers, auto-creation and coordinators.

Order of a creation: validate → place replicas → write the store (one atomic ``multi`` for all topics of a request) → choose
log directories → make the logs (one turn of a thread) → image → leases → clients see it. The store's record is the decision:
after a crash in between, the start makes the logs that are missing. The messages of refusals are Kafka's
(ReplicationControlManager).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from kafkastore._core import EngineError
from kafkastore.config import topic_defaults, validate_topic_configs
from kafkastore.controller.placement import check_target, place_replicas
from kafkastore.errors import (
    ErrorCode,
    InvalidPartitionsError,
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    InvalidRequestError,
    InvalidTopicError,
    KafkastoreError,
    NoReassignmentInProgressError,
    PolicyViolationError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)
from kafkastore.metadata.image import NO_LEADER, PartitionState, TopicImage
from kafkastore.metadata.nodes import encode_assignment, encode_config, new_id, partition_nodes, topic_nodes
from kafkastore.metadata.store import Create, Delete, SetData, StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from kafkastore._core import Engine
    from kafkastore.metadata.assignment import Assigned
    from kafkastore.metadata.store import Operation
    from kafkastore.server.context import BrokerServices

logger = logging.getLogger("kafkastore.server.topics")

MAX_PARTITIONS_PER_REQUEST = 10_000
"""Kafka's ReplicationControlManager.MAX_PARTITIONS_PER_BATCH."""

MAX_NAME_LENGTH = 249
"""A directory is named after topic and partition, and file names end at 255 bytes."""

DELETED_TOPICS = "/admin/delete_topics"
"""Nodes of topics that are gone from the store but whose logs may still be there: a start finishes their deletion instead
of taking the directories for topics that it does not know yet."""

_INTERNAL_PREFIXES = {
    "__consumer_offsets": "offsets.topic",
    "__transaction_state": "transaction.state.log",
    "__share_group_state": "share.coordinator.state.topic",
}

_LEGAL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def validate_topic_name(name: str) -> None:
    """Raises InvalidTopicError with Kafka's message."""
    if not name:
        raise InvalidTopicError("Topic name is invalid: the empty string is not allowed")
    if name in (".", ".."):
        raise InvalidTopicError(f"Topic name is invalid: '{name}' is not allowed")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidTopicError(
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
        )
    if not _LEGAL.issuperset(name):
        raise InvalidTopicError(
            f"Topic name is invalid: '{name}' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'"
        )


class NewTopic(NamedTuple):
    """A topic to create; -1 means the broker's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] | None = None
    configs: Mapping[str, str | None] | None = None


class Topics:
    """See the module. Runs on the loop; at most one change of a topic is under way at a time."""

    def __init__(self, broker: BrokerServices) -> None:
        self.broker = broker
        self.on_deleted: list[Callable[[Sequence[str]], None]] = []  # told the names of topics that are gone
        self._locks: dict[str, _NameLock] = {}
        self._under_way: dict[str, TopicImage] = {}  # being created, not yet in the image

    # ---- create
    async def create(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        assignments: Mapping[int, Sequence[int]] | None = None,
        configs: Mapping[str, str | None] | None = None,
        validate_only: bool = False,
    ) -> TopicImage:
        """Creates a topic and returns it once it is served; with ``validate_only`` returns what would be. -1 means the
        broker's default. Raises the KafkastoreError that Kafka answers."""
        asked = NewTopic(name, partitions, replication_factor, assignments, configs)
        (outcome,) = await self.create_all([asked], validate_only=validate_only)
        if isinstance(outcome, KafkastoreError):
            raise outcome
        return outcome

    async def create_all(
        self, asked: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicImage | KafkastoreError]:
        """Creates topics of different names, in one transaction of the store: for each the topic, or the error that it has
        for itself. Raises PolicyViolationError when there are too many partitions in all."""
        async with self._locked([one.name for one in asked]):
            outcomes = self._plan_all(asked)
            planned = {one.name: one for one in outcomes if isinstance(one, TopicImage)}
            if validate_only or not planned:
                return outcomes
            self._under_way |= planned
            try:
                failed = await self._make(list(planned.values()))
            finally:
                for name in planned:
                    del self._under_way[name]
            return [failed.get(one.name, outcome) for one, outcome in zip(asked, outcomes, strict=True)]

    async def create_if_absent(
        self, name: str, *, partitions: int = -1, replication_factor: int = -1, configs: Mapping[str, str] | None = None
    ) -> TopicImage:
        """The topic, created when it does not exist: auto-creation and internal topics."""
        found = self.broker.image.topic(name)
        if found is not None:
            return found
        try:
            return await self.create(
                name, partitions=partitions, replication_factor=replication_factor, configs=configs
            )
        except TopicAlreadyExistsError:
            existing = self.broker.image.topic(name)
            if existing is None:
                raise
            return existing

    async def create_internal(self, name: str) -> TopicImage:
        """An internal topic with the partitions, replicas and configuration that Kafka gives it, created when absent."""
        prefix, get = _INTERNAL_PREFIXES[name], self.broker.config.get_int
        return await self.create_if_absent(
            name,
            partitions=get(f"{prefix}.num.partitions"),
            replication_factor=get(f"{prefix}.replication.factor"),
            configs=self.internal_configs(name),
        )

    def internal_configs(self, name: str) -> dict[str, str]:
        """The configuration that Kafka creates an internal topic with; empty for any other topic."""
        prefix = _INTERNAL_PREFIXES.get(name)
        if prefix is None:
            return {}
        get = self.broker.config.get_int
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(get(f"{prefix}.segment.bytes")),
        }
        if name != "__consumer_offsets":
            configs |= {"min.insync.replicas": str(get(f"{prefix}.min.isr"))}
        if name == "__transaction_state":
            configs |= {"compression.type": "uncompressed", "unclean.leader.election.enable": "false"}
        return configs

    def _plan_all(self, asked: Sequence[NewTopic]) -> list[TopicImage | KafkastoreError]:
        # as in Kafka: what is asked for together may collide with each other
        collisions = {_metrics_name(name): name for name in [*self.broker.image.topics, *self._under_way]}
        outcomes: list[TopicImage | KafkastoreError] = []
        count = 0
        for one in asked:
            try:
                topic = self._plan(one, collisions)
            except KafkastoreError as error:
                outcomes.append(error)
                continue
            count += len(topic.partitions)
            if count > MAX_PARTITIONS_PER_REQUEST:
                raise PolicyViolationError("Excessively large number of partitions per request.")
            outcomes.append(topic)
        return outcomes

    def _plan(self, asked: NewTopic, collisions: Mapping[str, str]) -> TopicImage:
        """``collisions`` has the topics that there are by the name that metrics give them."""
        name, partitions, replication_factor, assignments, configs = asked
        validate_topic_name(name)
        if name in self.broker.image.topics:
            raise TopicAlreadyExistsError(f"Topic '{name}' already exists.")
        other = collisions.get(_metrics_name(name))
        if other is not None:
            raise InvalidTopicError(f"Topic '{name}' collides with existing topic: {other}")
        checked = validate_topic_configs(configs or {})
        if assignments:
            if replication_factor != -1:
                raise InvalidRequestError(
                    "A manual partition assignment was specified, but replication factor was not set to -1."
                )
            if partitions != -1:
                raise InvalidRequestError(
                    "A manual partition assignment was specified, but numPartitions was not set to -1."
                )
            replicas = self._check_assignments(assignments)
        else:
            replicas = self._place(partitions, replication_factor)
        if len(replicas) > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        return TopicImage(name, new_id(), self._states(replicas), checked)

    def _place(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        config = self.broker.config
        if replication_factor < -1 or replication_factor == 0:
            raise InvalidReplicationFactorError(
                "Replication factor must be larger than 0, or -1 to use the default value."
            )
        if partitions < -1 or partitions == 0:
            raise InvalidPartitionsError("Number of partitions was set to an invalid non-positive value.")
        count: int = config.get("num.partitions") if partitions == -1 else partitions
        factor: int = config.get("default.replication.factor") if replication_factor == -1 else replication_factor
        if count > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        return place_replicas(self._racks(), count, factor)

    def _check_assignments(self, assignments: Mapping[int, Sequence[int]]) -> list[tuple[int, ...]]:
        if sorted(assignments) != list(range(len(assignments))):
            raise InvalidReplicaAssignmentError("partitions should be a consecutive 0-based integer sequence")
        return self._check_replicas([assignments[partition] for partition in range(len(assignments))], None)

    def _check_replicas(self, assignments: Sequence[Sequence[int]], factor: int | None) -> list[tuple[int, ...]]:
        checked: list[tuple[int, ...]] = []
        brokers = self.broker.image.brokers
        for replicas in assignments:
            if not replicas:
                raise InvalidReplicaAssignmentError("The manual partition assignment includes an empty replica list.")
            for replica in replicas:
                if replica not in brokers:
                    raise InvalidReplicaAssignmentError(
                        f"The manual partition assignment includes broker {replica}, but no such broker is registered."
                    )
                if list(replicas).count(replica) > 1:
                    raise InvalidReplicaAssignmentError(
                        f"The manual partition assignment includes the broker {replica} more than once."
                    )
            if factor is not None and len(replicas) != factor:
                raise InvalidReplicaAssignmentError(
                    f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is"
                    f" not consistent with previous partitions, which have {factor} replica(s)."
                )
            factor = len(replicas)
            checked.append(tuple(replicas))
        return checked

    async def _make(self, topics: Sequence[TopicImage]) -> dict[str, KafkastoreError]:
        """Makes what was planned; the names that the store refused with the reasons."""
        broker = self.broker
        operations: dict[str, list[Operation]] = {}
        for topic in topics:
            operations[topic.name] = topic_nodes(topic, broker.image.controller_epoch)
            operations[topic.name].append(Create(f"/config/topics/{topic.name}", encode_config(topic.configs)))
        failed = await self._write(operations)
        made = [topic for topic in topics if topic.name not in failed]
        await self.make_logs([(topic, range(len(topic.partitions))) for topic in made])
        for topic in made:
            broker.image.put_topic(topic)
        broker.replica_manager.publish(made)
        for topic in made:
            logger.info("Created topic %s with %d partitions", topic.name, len(topic.partitions))
        return failed

    async def _write(self, operations: Mapping[str, Sequence[Operation]]) -> dict[str, KafkastoreError]:
        """Writes several topics' operations in one transaction; when the store refuses it, each topic's in one of its own.
        The names that failed with the reasons."""
        multi = self.broker.store.multi
        failed: dict[str, KafkastoreError] = {}
        try:
            await multi([operation for of_topic in operations.values() for operation in of_topic])
        except StoreError:
            for name, of_topic in operations.items():
                try:
                    await multi(of_topic)
                except StoreError as error:
                    failed[name] = error
        return failed

    async def make_logs(self, wanted: Iterable[tuple[TopicImage, Iterable[int]]]) -> list[tuple[str, int]]:
        """Makes the logs of this broker's replicas of some partitions of topics, all in one turn of a thread. One that
        fails leaves its partition offline, and is returned."""
        broker = self.broker
        defaults = topic_defaults(broker.config)
        topics: list[TopicImage] = []
        placements: list[_Placement] = []
        for topic, partitions in wanted:
            mine = [number for number in partitions if broker.node_id in topic.partitions[number].replicas]
            placed = broker.log_manager.place(topic.name, mine)
            topics.append(topic)
            placements.append(_Placement(topic.name, topic.topic_id, {**defaults, **topic.configs}, placed))
        errors = await broker.run_blocking(_create_logs, broker.engine, placements)
        failed = []
        for topic, placement, of_topic in zip(topics, placements, errors, strict=True):
            for (number, directory), error in zip(placement.placed, of_topic, strict=True):
                if error is not None:
                    logger.error("Cannot create the log of %s-%d in %s: %s", topic.name, number, directory, error)
                    failed.append((topic.name, number))
                if error is not None or directory in broker.log_manager.failed:
                    topic.partitions[number] = topic.partitions[number]._replace(leader=NO_LEADER)
        return failed

    # ---- grow
    async def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        """Grows the topic to ``count`` partitions; ``assignments`` are the replicas of the new ones."""
        async with self._locked([name]):
            topic = self._existing(name)
            current = len(topic.partitions)
            if count == current:
                raise InvalidPartitionsError(f"Topic already has {current} partition(s).")
            if count < current:
                raise InvalidPartitionsError(
                    f"The topic {name} currently has {current} partition(s); {count} would not be an increase."
                )
            replicas = self._place_additional(topic, count, assignments)
            if validate_only:
                return
            grown = TopicImage(name, topic.topic_id, [*topic.partitions, *self._states(replicas)], topic.configs)
            await self._grow(grown, current)
            logger.info("Topic %s grew from %d to %d partitions", name, current, count)

    async def _grow(self, grown: TopicImage, current: int) -> None:
        """Makes the partitions of ``grown`` from ``current`` on."""
        broker, added = self.broker, range(current, len(grown.partitions))
        operations: list[Operation] = [SetData(f"/brokers/topics/{grown.name}", encode_assignment(grown))]
        operations += partition_nodes(grown, added, broker.image.controller_epoch)
        await broker.store.multi(operations)
        await self.make_logs([(grown, added)])
        topic = self._existing(grown.name)
        topic.partitions.extend(grown.partitions[current:])
        broker.replica_manager.publish_leases(topic, added)
        broker.replica_manager.publish_metadata([topic])
        broker.replica_manager.tell(topic)

    def _place_additional(
        self, topic: TopicImage, count: int, assignments: Sequence[Sequence[int]] | None
    ) -> list[tuple[int, ...]]:
        current = len(topic.partitions)
        additional = count - current
        factor = len(topic.partitions[0].replicas)
        if assignments is not None:
            if len(assignments) != additional:
                raise InvalidReplicaAssignmentError(
                    f"Attempted to add {additional} additional partition(s), but only {len(assignments)} assignment(s)"
                    " were specified."
                )
            return self._check_replicas(assignments, factor)
        if additional > MAX_PARTITIONS_PER_REQUEST:
            raise PolicyViolationError("Excessively large number of partitions per request.")
        return place_replicas(self._racks(), additional, factor, current)

    # ---- move
    async def reassign(
        self, asked: Mapping[tuple[str, int], Sequence[int] | None], *, allows_factor_change: bool = True
    ) -> Mapping[tuple[str, int], KafkastoreError | None]:
        """Moves partitions to the brokers that are given, cancels a move where none are: for each (topic, partition) why not, or
        None. A broker that is alone can only say what it has already."""
        brokers = self.broker.image.brokers
        outcomes: dict[tuple[str, int], KafkastoreError | None] = {}
        for (name, number), target in asked.items():
            outcomes[name, number] = None
            try:
                topic = self.broker.image.topic(name)
                if topic is None:
                    raise UnknownTopicOrPartitionError(f"Unable to find a topic named {name}.")
                if not 0 <= number < len(topic.partitions):
                    raise UnknownTopicOrPartitionError(f"Unable to find partition {name}:{number}.")
                if target is None:
                    raise NoReassignmentInProgressError
                check_target(target, brokers, None if allows_factor_change else 1)
            except KafkastoreError as error:
                outcomes[name, number] = error
        return outcomes

    async def reassignments(self) -> Mapping[tuple[str, int], Assigned]:
        """The partitions that are being moved."""
        return {}

    # ---- elect
    async def elect_leaders(
        self, asked: Sequence[tuple[str, int]] | None, *, is_unclean: bool
    ) -> dict[tuple[str, int], int]:
        """The error code of each (topic, partition) asked for; of None, of all that an election changes or fails for. On a broker
        that is alone each partition has the only leader that there can be, or its log is offline."""
        topics = self.broker.image.topics.values()
        everything = [(topic.name, number) for topic in topics for number in range(len(topic.partitions))]
        outcomes = {key: self._judge_election(*key, is_unclean) for key in (everything if asked is None else asked)}
        if asked is None:
            return {key: code for key, code in outcomes.items() if code != ErrorCode.ELECTION_NOT_NEEDED}
        return outcomes

    def _judge_election(self, name: str, number: int, is_unclean: bool) -> int:
        state = self.broker.image.partition(name, number)
        if state is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if state.replicas[:1] == (state.leader,):
            return ErrorCode.ELECTION_NOT_NEEDED
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE if is_unclean else ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE

    # ---- configure
    async def set_config_overrides(self, name: str, overrides: Mapping[str, str | None]) -> None:
        """Replaces the topic's own configuration, in effect at once. Raises ConfigError for a wrong name or value."""
        async with self._locked([name]):
            topic = self._existing(name)
            checked = validate_topic_configs(overrides)
            broker = self.broker
            path = f"/config/topics/{name}"
            await broker.store.ensure_path(path)
            await broker.store.set(path, encode_config(checked))
            topic.configs = checked
            broker.engine.set_topic_config(name, {**topic_defaults(broker.config), **checked})

    # ---- delete
    async def delete(self, name: str) -> None:
        """Deletes the topic: gone from the store, from clients and from the disk (the files a little later)."""
        (error,) = await self.delete_all([name])
        if error is not None:
            raise error

    async def delete_all(self, names: Sequence[str]) -> list[KafkastoreError | None]:
        """Deletes topics of different names, in one transaction of the store: for each None, or the error that it has for
        itself."""
        async with self._locked(names):
            topics = {name: topic for name in names if (topic := self.broker.image.topic(name)) is not None}
            failed: dict[str, KafkastoreError] = {
                name: UnknownTopicOrPartitionError() for name in names if name not in topics
            }
            if topics:
                failed |= await self._unmake(topics)
            return [failed.get(name) for name in names]

    async def _unmake(self, topics: Mapping[str, TopicImage]) -> dict[str, KafkastoreError]:
        """The names that failed with the reasons; one whose logs could not be renamed is finished by the next start."""
        broker = self.broker
        operations: dict[str, list[Operation]] = {}
        for name, topic in topics.items():
            operations[name] = await broker.store.delete_tree(f"/brokers/topics/{name}")
            operations[name] += await broker.store.delete_tree(f"/config/topics/{name}")
            operations[name].append(Create(f"{DELETED_TOPICS}/{name}", topic.topic_id))
        failed = await self._write(operations)
        gone = {name: topic for name, topic in topics.items() if name not in failed}
        for name in gone:
            broker.image.remove_topic(name)
        broker.replica_manager.withdraw(gone.values())
        for listener in self.on_deleted:
            listener(list(gone))
        mine = [(name, broker.log_manager.forget(name)) for name in gone]
        failed |= await broker.run_blocking(_delete_logs, broker.engine, mine)
        deleted = [name for name in gone if name not in failed]
        await broker.store.multi([Delete(f"{DELETED_TOPICS}/{name}") for name in deleted])
        for name in deleted:
            logger.info("Deleted topic %s", name)
        return failed

    # ---- inside
    def _existing(self, name: str) -> TopicImage:
        topic = self.broker.image.topic(name)
        if topic is None:
            raise UnknownTopicOrPartitionError
        return topic

    def _racks(self) -> dict[int, str | None]:
        return {broker.node_id: broker.rack for broker in self.broker.image.brokers.values()}

    def _states(self, replicas: Sequence[tuple[int, ...]]) -> list[PartitionState]:
        shared: dict[tuple[int, ...], PartitionState] = {}  # partitions with equal replicas start from one object
        return [shared.setdefault(one, PartitionState(one[0], 0, 0, one, one)) for one in replicas]

    @asynccontextmanager
    async def _locked(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Holds the locks of these names, taken in one order by everyone; a lock lives as long as somebody wants it."""
        ordered = sorted(set(names))
        locks = [self._locks.setdefault(name, _NameLock()) for name in ordered]
        for lock in locks:
            lock.users += 1
        held: list[_NameLock] = []
        try:
            for lock in locks:
                await lock.acquire()
                held.append(lock)
            yield
        finally:
            for lock in held:
                lock.release()
            for name, lock in zip(ordered, locks, strict=True):
                lock.users -= 1
                if not lock.users:
                    del self._locks[name]


class _NameLock(asyncio.Lock):
    """The lock of one topic name; ``users`` hold it or wait for it."""

    users = 0


class _Placement(NamedTuple):
    """What ``Engine.create_logs`` takes."""

    name: str
    topic_id: bytes
    config: dict[str, str]
    placed: list[tuple[int, str]]


def _create_logs(engine: Engine, placements: Sequence[_Placement]) -> list[list[str | None]]:
    """Blocking. One error or None for each log."""
    errors: list[list[str | None]] = []
    for placement in placements:
        try:
            errors.append(engine.create_logs(*placement))
        except EngineError as error:
            errors.append([str(error)] * len(placement.placed))
    return errors


def _delete_logs(engine: Engine, partitions: Sequence[tuple[str, list[int]]]) -> dict[str, KafkastoreError]:
    """Blocking. The topics that failed with the reasons.

    The checkpoints must not name the logs any more: a topic made anew under the same name would be taken, after a crash, to
    start where the old one did, and lose what lies below."""
    failed: dict[str, KafkastoreError] = {}
    for name, numbers in partitions:
        try:
            engine.delete_logs(name, numbers)
        except EngineError as error:
            logger.error("Cannot delete the logs of topic %s: %s", name, error)  # noqa: TRY400 - a sentence says it
            failed[name] = KafkastoreError(str(error), code=error.code)
    try:
        engine.write_checkpoints(True, False, True)
    except EngineError as error:
        logger.error("Cannot write the checkpoints after a deletion: %s", error)  # noqa: TRY400 - as above
        failed |= {name: KafkastoreError(str(error), code=error.code) for name, _ in partitions if name not in failed}
    return failed


def _metrics_name(name: str) -> str:
    """Metrics cannot tell "." from "_"."""
    return name.replace(".", "_")
