"""Creates, grows, moves, configures and deletes topics: the one way for handlers, auto-creation and coordinators.

Order of a creation: lock the name → plan (``planner.py``) → the controller writes the store and sends UpdateMetadata to
the brokers, this broker too → this broker has the topic in its image, so that the client's next request sees its topic.
A broker that is alone is its own controller. On a broker that is not the controller, every method raises
NotControllerError before anything is done, and clients' requests go to the controller (``requests/forwarding.py``). For
its own changes (auto-creation, ``__consumer_offsets``, configuration) such a broker sends requests to the controller.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkastore.config import validate_topic_configs
from kafkastore.errors import (
    ErrorCode,
    InvalidReplicaAssignmentError,
    KafkastoreError,
    NotControllerError,
    PolicyViolationError,
    RequestTimedOutError,
    TopicAlreadyExistsError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.image import TopicImage
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import decode_config
from kafkastore.metadata.store import NoNodeError
from kafkastore.metadata.stored_topics import load_configs
from kafkastore.purgatory.turns import Turn
from kafkastore.topic.checks import check_growth
from kafkastore.topic.internal import internal_topic, too_few_brokers
from kafkastore.topic.name_locks import NameLocks
from kafkastore.topic.new_topic import NewPartitions, NewTopic, RequestingClient
from kafkastore.topic.planner import MAX_PARTITIONS_PER_REQUEST, TopicPlanner

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
    from typing import Protocol

    from kafkastore.config import BrokerConfig
    from kafkastore.dynamic_config.changes import ConfigChanges
    from kafkastore.dynamic_config.mutation_quotas import MutationQuota
    from kafkastore.metadata.assignment import ReplicaAssignment
    from kafkastore.metadata.image import MetadataImage
    from kafkastore.metadata.store import MetadataStore
    from kafkastore.replica.assigned import AssignedReplicas

    Ask = Callable[[Any, int, RequestingClient | None], Awaitable[Any]]

    class Deleted(Protocol):
        """A topic whose deletion the controller has decided."""

        name: str

    class TopicController(Protocol):
        """The methods used of the controller in this process (``controller/controller.py``). Methods that change
        something raise NotControllerError when this broker is not the controller."""

        @property
        def is_active(self) -> bool: ...
        async def create_topics(self, requested: Sequence[NewTopic]) -> Sequence[object]: ...
        async def create_partitions(self, requested: Sequence[NewPartitions]) -> Sequence[KafkastoreError | None]: ...
        async def set_topic_configs(
            self, requested: Mapping[str, Mapping[str, str]]
        ) -> Mapping[str, KafkastoreError]: ...
        async def delete_topics(self, names: Sequence[str]) -> Sequence[Any]: ...
        async def wait_deleted(self, topics: Iterable[Any], limit_s: float) -> Sequence[Deleted]: ...
        async def wait_sent(self, node_id: int, limit_s: float) -> None: ...
        async def elect_leaders(
            self, partitions: Sequence[tuple[str, int]] | None, *, is_unclean: bool = ...
        ) -> dict[tuple[str, int], int]: ...
        async def alter_reassignments(
            self, requested: Mapping[tuple[str, int], Sequence[int] | None], *, allows_factor_change: bool = ...
        ) -> Mapping[tuple[str, int], KafkastoreError | None]: ...
        async def reassignments(self) -> Mapping[tuple[str, int], ReplicaAssignment]: ...


logger = logging.getLogger("kafkastore.topic")

METADATA_LIMIT_S: Final = 10.0
"""How long an answer waits at most until this broker's image has the change that the controller has decided."""

REQUEST_TIMEOUT_MS: Final = 30_000

REPLANS: Final = 3
"""How often replicas are placed anew when a broker died between the plan and the controller's look at it."""

CREATE_LIMIT_MS: Final = 10_000
"""How long a request that needs a topic (auto-creation) waits for it; less than the client's own request timeout."""

READ_ALL_SHARE: Final = 4
"""From a fourth of all topics on, the configurations of all topics are read at once."""

T = TypeVar("T")

TOPIC_RESOURCE: Final = 2
"""The resource type of topics in AlterConfigs."""


_NO_IDS: Final[Mapping[str, bytes]] = MappingProxyType({})


class Topics:
    """See the module. Runs on the loop; at most one change of a topic is under way at a time. ``ask(request,
    timeout_ms, by)`` sends a request to the controller, on whichever broker, as the client ``by`` would."""

    def __init__(
        self,
        config: BrokerConfig,
        store: MetadataStore,
        image: MetadataImage,
        controller: TopicController,
        assigned: AssignedReplicas,
        config_changes: ConfigChanges,
        ask: Ask,
    ) -> None:
        self._config = config
        self._store = store
        self._image = image
        self._controller = controller
        self._assigned = assigned
        self._config_changes = config_changes
        self._ask = ask
        self.reported: dict[str, float] = {}
        """When the log has said last that an internal topic cannot be created (``handlers/coordinators_topic.py``)."""
        self.on_deleted: list[Callable[[Sequence[str]], None]] = []  # called with the names of deleted topics
        self._planner = TopicPlanner(config, image)
        self.locks = NameLocks()
        self._endings: set[asyncio.Task[None]] = set()  # of deletions
        self._planning = asyncio.Lock()
        self._under_way: dict[str, TopicImage] = {}  # being created, not yet in the image

    def tell_deleted(self, names: Sequence[str]) -> None:
        """Calls ``on_deleted`` on this broker; its group coordinator forgets the groups' offsets of these topics."""
        for listener in self.on_deleted:
            listener(names)

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
        """Creates a topic and returns it once it is served; with ``validate_only`` returns only the planned topic. -1
        means the broker's default. Raises the KafkastoreError that Kafka answers."""
        requested = NewTopic(name, partitions, replication_factor, assignments, configs)
        (outcome,) = await self.create_all([requested], validate_only=validate_only)
        if isinstance(outcome, KafkastoreError):
            raise outcome
        return outcome

    async def create_all(
        self,
        requested: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        turn: Turn | None = None,
        quota: MutationQuota | None = None,
    ) -> list[TopicImage | KafkastoreError]:
        """Creates topics of different names, in one write of the controller. Returns for each the topic, or its own
        error. Raises PolicyViolationError when there are too many partitions in all, NotControllerError, and during the
        planning, before the write, any error of ``turn``'s check."""
        self._check_controller()
        turn = turn or Turn()
        async with self.locks.held([one.name for one in requested]):
            found = await self._plan_and_make(requested, turn, quota, validate_only=validate_only)
            for _ in range(REPLANS):
                placed = [one for one in requested if not one.assignments and _is_misplaced(found[one.name])]
                if not placed:
                    break
                # the controller knew that a broker died before this broker did; wait until its UpdateMetadata was sent
                await self._controller.wait_sent(self._config.node_id, METADATA_LIMIT_S)
                found |= await self._plan_and_make(placed, turn, None, validate_only=validate_only)
            return [found[one.name] for one in requested]

    async def _plan_and_make(
        self, requested: Sequence[NewTopic], turn: Turn, quota: MutationQuota | None, *, validate_only: bool
    ) -> dict[str, TopicImage | KafkastoreError]:
        async with self._planning:  # names that differ may collide
            outcomes = await self._planner.plan_all(requested, self._under_way, turn)
            found = dict(zip([one.name for one in requested], outcomes, strict=True))
            planned = {name: one for name, one in found.items() if isinstance(one, TopicImage)}
            for name, error in _above(quota, {name: len(one.partitions) for name, one in planned.items()}).items():
                found[name] = error
                del planned[name]
            if validate_only or not planned:
                return found
            self._under_way |= planned
        try:
            return found | await self._make(list(planned.values()))
        finally:
            for name in planned:
                del self._under_way[name]

    async def create_if_absent(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | None] | None = None,
        by: RequestingClient | None = None,
    ) -> TopicImage:
        """Returns the topic, and creates it when it does not exist: for auto-creation (``by`` a client) and internal
        topics, on any broker. Raises RequestTimedOutError when this takes longer than :data:`CREATE_LIMIT_MS` in all,
        ThrottlingQuotaExceededError when the client is over its quota."""
        found = self._image.topic(name)
        if found is not None:
            return found
        requested = NewTopic(name, partitions, replication_factor, None, configs)
        return await asyncio.get_running_loop().create_task(self._create_if_absent(requested, by))

    async def _create_if_absent(self, requested: NewTopic, by: RequestingClient | None) -> TopicImage:
        try:
            async with asyncio.timeout(CREATE_LIMIT_MS / 1000):
                if not (self._controller.is_active and await self._has_created(requested, by)):
                    await self._ask_to_create(requested, by)
                await self._wait_until_told([requested.name])
        except TimeoutError:
            raise RequestTimedOutError from None
        topic = self._image.topic(requested.name)
        if topic is None:  # the topic was deleted meanwhile
            raise UnknownTopicOrPartitionError
        return topic

    async def _has_created(self, requested: NewTopic, by: RequestingClient | None) -> bool:
        """Creates the topic as the controller. Returns False when this broker is no longer the controller."""
        try:
            (outcome,) = await self.create_all([requested], quota=by and by.quota)
        except NotControllerError:
            return False
        if isinstance(outcome, KafkastoreError) and not isinstance(outcome, TopicAlreadyExistsError):
            raise outcome
        return True

    async def create_internal(self, name: str, by: RequestingClient | None = None) -> TopicImage:
        """An internal topic with the partitions, replicas and configuration that Kafka gives it, created when
        absent."""
        requested = internal_topic(self._config, name)
        try:
            return await self.create_if_absent(
                name,
                partitions=requested.partitions,
                replication_factor=requested.replication_factor,
                configs=requested.configs,
                by=by,
            )
        except KafkastoreError as error:
            if error.code != ErrorCode.INVALID_REPLICATION_FACTOR:
                raise
            raise KafkastoreError(too_few_brokers(self._config, name, len(self._image.brokers)), error.code) from error

    async def _ask_to_create(self, requested: NewTopic, by: RequestingClient | None) -> None:
        topic = {
            "name": requested.name,
            "num_partitions": requested.partitions,
            "replication_factor": requested.replication_factor,
            "assignments": (),
            "configs": [{"name": name, "value": value} for name, value in (requested.configs or {}).items()],
        }
        request = OutgoingRequest("CreateTopics", 7, {"topics": [topic]})
        answer = await self._ask(request, CREATE_LIMIT_MS, by)
        for one in answer.topics:
            if one.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                raise KafkastoreError(one.error_message, code=one.error_code)

    async def _make(self, topics: Sequence[TopicImage]) -> dict[str, TopicImage | KafkastoreError]:
        """Has the controller create the planned topics. Returns by name the topics, with the ids that the controller
        gave, or their errors."""
        requested = [
            NewTopic.placed(topic.name, [state.replicas for state in topic.partitions], topic.configs)
            for topic in topics
        ]
        outcomes = await self._controller.create_topics(requested)
        failed = {
            one.name: outcome
            for one, outcome in zip(requested, outcomes, strict=True)
            if isinstance(outcome, KafkastoreError)
        }
        made = [topic.name for topic in topics if topic.name not in failed]
        await self._wait_until_told(made)
        known = self._image.topics  # a topic may be deleted already
        return failed | {name: known[name] for name in made if name in known}

    # ---- grow
    async def create_partitions(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None = None
    ) -> None:
        """Grows the topic to ``count`` partitions; ``assignments`` are the replicas of the new ones."""
        failed = await self.create_all_partitions([NewPartitions(name, count, assignments)])
        if name in failed:
            raise failed[name]

    async def create_all_partitions(
        self,
        requested: Sequence[NewPartitions],
        *,
        validate_only: bool = False,
        turn: Turn | None = None,
        quota: MutationQuota | None = None,
    ) -> dict[str, KafkastoreError]:
        """Grows topics of different names, in one write of the controller. Returns the topics that failed, each with
        its own error. Raises PolicyViolationError when there are too many partitions in all, NotControllerError."""
        self._check_controller()
        turn = turn or Turn()
        async with self.locks.held([one.name for one in requested]):
            moving = await self.reassignments()
            failed: dict[str, KafkastoreError] = {}
            left = list(requested)
            for attempt in range(REPLANS + 1):
                planned = await self._plan_growths(left, moving, failed, turn)
                if not attempt:
                    above = _above(quota, {one.name: len(one.assignments or ()) for one in planned})
                    failed |= above
                    planned = [one for one in planned if one.name not in above]
                if validate_only or not planned:
                    break
                outcomes = await self._controller.create_partitions(planned)
                refused = {one.name: error for one, error in zip(planned, outcomes, strict=True) if error is not None}
                failed |= refused
                left = [one for one in left if not one.assignments and _is_misplaced(refused.get(one.name))]
                if not left or attempt == REPLANS:
                    break
                for one in left:
                    del failed[one.name]
                await self._controller.wait_sent(self._config.node_id, METADATA_LIMIT_S)  # as above
            if not validate_only:
                grown = [one for one in requested if one.name not in failed]
                await self._wait_until_each(grown, lambda one: self._partition_count(one.name) >= one.partitions)
            return failed

    async def _plan_growths(
        self,
        requested: Sequence[NewPartitions],
        moving: Mapping[tuple[str, int], ReplicaAssignment],
        failed: dict[str, KafkastoreError],
        turn: Turn,
    ) -> list[NewPartitions]:
        """Returns ``requested`` with the replicas of all new partitions; ``failed`` gets topics that cannot grow."""
        planned: list[NewPartitions] = []
        added = 0
        async for one in turn.each(requested):
            try:
                replicas = self._plan_growth(one, moving.get((one.name, 0)))
            except KafkastoreError as error:
                failed[one.name] = error.with_traceback(None)  # a traceback would keep its frames alive
                continue
            added += len(replicas)
            if added > MAX_PARTITIONS_PER_REQUEST:
                raise PolicyViolationError("Excessively large number of additional partitions per request.")
            planned.append(NewPartitions(one.name, one.partitions, replicas))
        return planned

    def _plan_growth(self, requested: NewPartitions, moving: ReplicaAssignment | None) -> Sequence[Sequence[int]]:
        """``moving``: the reassignment of the topic's partition 0, which has more replicas while it moves, or None."""
        topic = self._existing(requested.name)
        current = len(topic.partitions)
        check_growth(requested.name, current, requested.partitions)
        factor = len(topic.partitions[0].replicas if moving is None else moving.target)
        return self._planner.place_additional(topic, requested.partitions, factor, requested.assignments)

    def _partition_count(self, name: str) -> int:
        topic = self._image.topic(name)
        return 0 if topic is None else len(topic.partitions)

    # ---- move
    async def reassign(
        self, requested: Mapping[tuple[str, int], Sequence[int] | None], *, allows_factor_change: bool = True
    ) -> Mapping[tuple[str, int], KafkastoreError | None]:
        """Moves partitions to the given brokers; None instead of brokers cancels a move. Returns for each (topic,
        partition) the error, or None."""
        return await self._controller.alter_reassignments(requested, allows_factor_change=allows_factor_change)

    async def reassignments(self) -> Mapping[tuple[str, int], ReplicaAssignment]:
        """The partitions that are being moved."""
        return await self._controller.reassignments()

    # ---- elect
    async def elect_leaders(
        self, requested: Sequence[tuple[str, int]] | None, *, is_unclean: bool
    ) -> dict[tuple[str, int], int]:
        """Returns the error code of each (topic, partition) in ``requested``; when that is None, of each partition
        whose leader the election changes, or fails to change."""
        outcomes = await self._controller.elect_leaders(requested, is_unclean=is_unclean)
        elected = [key for key, code in outcomes.items() if code == ErrorCode.NONE]
        if elected:
            await self._wait_until_each(elected, lambda key: self._is_elected(*key, is_unclean))
        return outcomes

    def _is_elected(self, name: str, number: int, is_unclean: bool) -> bool:
        """Whether this broker's image has the new leader, or no longer has the partition."""
        state = self._image.partition(name, number)
        return state is None or (state.leader >= 0 if is_unclean else state.replicas[:1] == (state.leader,))

    # ---- configure
    async def set_config_overrides(self, name: str, overrides: Mapping[str, str | None]) -> None:
        """Replaces the topic's own configuration, in effect here when it returns. Goes through the controller, which
        must know a lower ``min.insync.replicas`` before the leaders do. Raises ConfigError for a wrong name or
        value."""
        checked = validate_topic_configs(overrides, self._config)
        if self._controller.is_active:
            try:
                failed = await self.set_all_configs({name: checked})
            except NotControllerError:  # no longer the controller; writing the same twice does no harm
                pass
            else:
                if name in failed:
                    raise failed[name]
                return
        await self._ask_to_replace_configs(name, checked)

    async def set_all_configs(
        self, requested: Mapping[str, Mapping[str, str]], ids: Mapping[str, bytes] = _NO_IDS
    ) -> Mapping[str, KafkastoreError]:
        """As the controller: replaces the own configuration of topics, checked already, in one write. Returns the
        topics that failed, each with its own error; a topic whose id is in ``ids`` fails when another topic has its
        name now. Raises NotControllerError."""
        self._check_controller()
        async with self.locks.held(requested):
            known = self._image.topics
            gone = {name for name, one in ids.items() if name in known and known[name].topic_id != one}
            left = {name: configs for name, configs in requested.items() if name not in gone}
            failed = await self._controller.set_topic_configs(left)
            written = {name: configs for name, configs in left.items() if name not in failed}
            await self._config_changes.apply_topics(written)
            return {**failed, **{name: UnknownTopicOrPartitionError() for name in gone}}

    async def stored_configs(self, name: str) -> dict[str, str]:
        """The topic's own configuration as it stands in the store: the image may not have another broker's last change
        yet."""
        try:
            return decode_config((await self._store.get(f"/config/topics/{name}")).data)
        except NoNodeError:
            return {}
        except InvalidNodeError:  # an invalid node leaves the topic's configuration as it was
            return self._configs_in_force(name)

    async def all_stored_configs(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        """As :meth:`stored_configs`, for many topics that exist: when they are a good part of all topics, the store is
        read once."""
        if len(names) <= 1 or len(names) * READ_ALL_SHARE < len(self._image.topics):
            return {name: await self.stored_configs(name) for name in names}
        found = await load_configs(self._store, Turn().give_way)
        stored = {}
        for name in names:
            configs = found.get(name, {})
            stored[name] = self._configs_in_force(name) if configs is None else configs
        return stored

    def _configs_in_force(self, name: str) -> dict[str, str]:
        topic = self._image.topic(name)
        return {} if topic is None else dict(topic.configs)

    async def ask_to_change_configs(self, name: str, changes: Iterable[tuple[str, int, str | None]]) -> None:
        """Has the controller change some keys, (key, operation, value) each; in effect here when it returns."""
        configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
        await self._ask_to_configure("IncrementalAlterConfigs", 1, name, configs)

    async def _ask_to_replace_configs(self, name: str, overrides: Mapping[str, str]) -> None:
        configs = [{"name": key, "value": value} for key, value in overrides.items()]
        await self._ask_to_configure("AlterConfigs", 2, name, configs)

    async def _ask_to_configure(self, api: str, version: int, name: str, configs: list[dict[str, Any]]) -> None:
        named = {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configs": configs}
        requested = OutgoingRequest(api, version, {"resources": [named], "validate_only": False})
        answer = await self._ask(requested, REQUEST_TIMEOUT_MS, None)
        for one in answer.responses:
            if one.error_code != ErrorCode.NONE:
                raise KafkastoreError(one.error_message or "", code=one.error_code)
        await self._store.poll()  # from here on this broker reads the controller's write
        await self._config_changes.apply("topics", name)

    # ---- delete
    async def delete(self, name: str) -> None:
        """Deletes one topic; see :meth:`delete_all`. Raises its error."""
        (error,) = await self.delete_all([name])
        if error is not None:
            raise error

    async def delete_all(
        self, names: Sequence[str], ids: Mapping[str, bytes] = _NO_IDS
    ) -> list[KafkastoreError | None]:
        """Deletes topics of different names, in one write of the controller. Returns for each None, or its own error. A
        topic whose id is in ``ids`` is deleted only if it still has that id.

        Returns when the deletions are in the store and clients of this broker no longer see the topics, as Kafka does.
        The brokers delete the logs, and the controller the topics' nodes, after that. Until then the names stay locked:
        a topic of the same name is created when the older one is gone. Replicas on a broker that is not alive, or in
        a log directory that is offline, are deleted when it is back."""
        self._check_controller()
        async with AsyncExitStack() as locked:
            await locked.enter_async_context(self.locks.held(names))
            topics = {
                name: topic
                for name in names
                if (topic := self._image.topic(name)) is not None and ids.get(name) in (None, topic.topic_id)
            }
            failed: dict[str, KafkastoreError] = {
                name: UnknownTopicIdError() if name in ids else UnknownTopicOrPartitionError()
                for name in names
                if name not in topics
            }
            outcomes = dict(zip(topics, await self._controller.delete_topics(list(topics)), strict=True))
            failed |= {name: error for name, error in outcomes.items() if isinstance(error, KafkastoreError)}
            deleted = {name: topic for name, topic in outcomes.items() if name not in failed}
            try:
                await self._wait_until_each(deleted, lambda name: self._image.topic(name) is not topics[name])
            finally:
                if deleted:
                    ending = self._end_deletions(list(deleted.values()), locked.pop_all())
                    task = asyncio.get_running_loop().create_task(ending)
                    self._endings.add(task)
                    task.add_done_callback(self._endings.discard)
            return [failed.get(name) for name in names]

    async def _end_deletions(self, deleted: Sequence[Deleted], locked: AsyncExitStack) -> None:
        """Frees the topics' names when their logs and nodes are gone, or cannot be deleted now."""
        async with locked:
            for topic in await self._controller.wait_deleted(deleted, METADATA_LIMIT_S):
                logger.warning(
                    "Topic %s is deleted, but not its logs: a broker could not delete them. They are deleted after "
                    "that broker's restart; the name is free from then on",
                    topic.name,
                )

    async def stop(self) -> None:
        """Ends the waiting for deletions; the next controller goes on with them."""
        endings = list(self._endings)
        for task in endings:
            task.cancel()
        await asyncio.gather(*endings, return_exceptions=True)

    # ---- inside
    def _check_controller(self) -> None:
        if not self._controller.is_active:
            raise NotControllerError

    def _existing(self, name: str) -> TopicImage:
        topic = self._image.topic(name)
        if topic is None:
            raise UnknownTopicOrPartitionError
        return topic

    async def _wait_until_told(self, names: Sequence[str]) -> None:
        await self._wait_until_each(names, self._is_served)

    def _is_served(self, name: str) -> bool:
        """Whether each partition of the topic has a leader in this broker's image, or a replica that is offline."""
        topic = self._image.topic(name)
        return topic is not None and all(state.leader >= 0 or state.offline for state in topic.partitions)

    async def _wait_until_each(self, items: Iterable[T], holds: Callable[[T], bool]) -> None:
        """Returns when ``holds`` has been true once for each item, checked one after the other: thousands of items are
        not all checked again after each request of the controller. Raises RequestTimedOutError."""
        deadline = asyncio.get_running_loop().time() + METADATA_LIMIT_S
        async for item in Turn().each(items):
            if not holds(item):
                left_s = deadline - asyncio.get_running_loop().time()
                if not await self._assigned.wait_until(partial(holds, item), left_s):
                    raise RequestTimedOutError


def _above(quota: MutationQuota | None, partitions: Mapping[str, int]) -> dict[str, KafkastoreError]:
    """Takes the tokens for changes of topics, by name; returns the errors of those that the quota does not let
    through."""
    found: dict[str, KafkastoreError] = {}
    if quota is None:
        return found
    for name, count in partitions.items():
        try:
            quota.take(count)
        except KafkastoreError as error:
            found[name] = error.with_traceback(None)
    return found


def _is_misplaced(outcome: TopicImage | KafkastoreError | None) -> bool:
    return isinstance(outcome, InvalidReplicaAssignmentError)
