"""A running cluster as ``kafkastore cluster`` sees it, through Kafka's protocol on a listener for clients.

Any broker answers Metadata, and passes requests about moves on to the controller. These requests are sent again while
there is no controller: they state the target replicas, so that sending them twice does no harm. Each broker is asked
for the sizes of its own replicas.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.admin.admin_client import QUIET, AdminClient, AdminError, ClusterBroker, KafkaError
from kafkastore.admin.log_dirs import held_bytes, log_dirs_of
from kafkastore.admin.quorum import quorum_once
from kafkastore.admin.reassignments import moves_of, refused_targets, target_rows
from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.errors import ErrorCode, KafkastoreError, error_name
from kafkastore.interbroker.cluster import TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kafkastore.admin.reassignments import Reassignment

    Key = tuple[str, int]

ANSWER_MS = 2_000
"""Added to the timeout that a request carries: how much longer its answer is waited for."""

CONTROLLER_LIMIT_S = 30.0
"""How long an election of the controller is waited for."""

LOOK_LIMIT_S = 5.0
"""The same limit when the cluster is only shown: the view is then made without the controller's answer."""

RETRY_S = 0.3

REFUSALS = frozenset(
    (
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.UNSUPPORTED_VERSION,
    )
)
"""Errors that the same request gets again, whoever is the controller."""

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)
"""org.apache.kafka.clients.admin.AlterConfigOp.OpType"""

KNOWN_LIMIT_S = 5.0
"""How long brokers may take to know a changed configuration. A broker that hangs longer does nothing meanwhile, and
takes over the changes that it missed when it goes on."""

KNOWN_POLL_S = 0.05

TOPICS_AT_ONCE = 200
"""The most topics in one DescribeConfigs request."""


class NotAllowedError(AdminError):
    """The user may not describe the cluster: it may see some topics, or none."""


class ClusterPartition(NamedTuple):
    """While the partition moves, ``replicas`` holds both the current and the target replicas; ``adding`` and
    ``removing`` are the differences."""

    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def target(self) -> tuple[int, ...]:
        return tuple(node for node in self.replicas if node not in self.removing)


class ClusterView(NamedTuple):
    """The cluster at one moment. ``held[node]`` are the bytes of each partition on that broker; a broker that does not
    answer has no entry."""

    brokers: dict[int, ClusterBroker]
    controller: int
    partitions: dict[Key, ClusterPartition]
    held: dict[int, dict[Key, int]]
    silence: str | None = None
    """Why the moves under way are not known: the controller's error."""
    is_partial: bool = False
    """Whether the user may not describe the cluster; then it sees the topics that it may describe."""
    removed: frozenset[int] = frozenset()
    """Brokers that are out of service: no replica is placed on them."""

    def in_service(self) -> dict[int, str | None]:
        """The brokers that are alive and may be given replicas, with their racks."""
        return {node: broker.rack for node, broker in self.brokers.items() if node not in self.removed}

    def sizes(self) -> dict[Key, int]:
        """The bytes of each partition: those of its leader's replica, else of the largest replica that is known."""
        found = {}
        for key, partition in self.partitions.items():
            at_leader = self.held.get(partition.leader, {}).get(key)
            known = [self.held[node].get(key, 0) for node in partition.replicas if node in self.held]
            found[key] = max(known, default=0) if at_leader is None else at_leader
        return found


class ClusterClient(AdminClient):
    """See the module."""

    client_id = "kafkastore-cluster"

    # ---- looking
    async def view(self, *, is_controller_needed: bool = True) -> ClusterView:
        """The cluster now. Raises AdminError; when no controller answers and none is needed, ``silence`` says why."""
        metadata = await self._metadata()
        brokers = {one.node_id: ClusterBroker(one.host, one.port, one.rack) for one in metadata.brokers}
        partitions = {
            (topic.name, one.partition_index): ClusterPartition(
                one.leader_id, tuple(one.replica_nodes), tuple(one.isr_nodes)
            )
            for topic in metadata.topics
            for one in topic.partitions
        }
        moving, silence, is_partial = {}, None, False
        try:
            moving = await self._moving(CONTROLLER_LIMIT_S if is_controller_needed else LOOK_LIMIT_S)
        except AdminError as error:
            if is_controller_needed:
                raise
            silence, is_partial = error.client_message, isinstance(error, NotAllowedError)
        for key, one in moving.items():
            if key in partitions:
                partitions[key] = partitions[key]._replace(**one._asdict())
        held = await asyncio.gather(*map(self._held, brokers))
        known = {node: found for node, found in zip(brokers, held, strict=True) if found is not None}
        removed = await self._removed()
        return ClusterView(brokers, await self.controller(), partitions, known, silence, is_partial, removed)

    async def controller(self) -> int:
        """The node id of the controller, from DescribeQuorum; -1 when there is none, when the brokers are too old to
        answer, or when the user may not ask. Metadata cannot be used: it names a broker that passes requests on to the
        controller."""
        try:
            return (await quorum_once(self)).leader
        except KafkastoreError:
            return -1

    async def topic_configs(self, topics: Sequence[str], key: str, broker: int | None = None) -> dict[str, str]:
        """The value of ``key`` for each of these topics that is known, as ``broker`` or any broker has it."""
        found = {}
        for first in range(0, len(topics), TOPICS_AT_ONCE):
            resources = [
                {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": (key,)}
                for name in topics[first : first + TOPICS_AT_ONCE]
            ]
            answer = await self._ask_here("DescribeConfigs", {"resources": resources}, broker)
            for one in answer.results:
                if one.error_code == ErrorCode.NONE and one.configs:
                    found[one.resource_name] = one.configs[0].value
        return found

    # ---- moving
    async def reassign(self, targets: Mapping[Key, Sequence[int] | None]) -> dict[Key, str]:
        """Begins a move for each partition, or cancels its move where the target is None. Returns the partitions that
        were refused, each with the reason."""
        answer = await self._ask_until_done("AlterPartitionReassignments", {"topics": target_rows(targets)})
        return {key: error.client_message for key, error in refused_targets(answer).items()}

    # ---- configuration
    async def alter_configs(
        self, changes: Mapping[str, str | None], *, topic: str | None = None, broker: int | None = None
    ) -> None:
        """Changes the configuration of a topic, or of a broker, to which the request itself must go; None removes a
        key. Raises AdminError."""
        configs = [
            {"name": name, "config_operation": DELETE if value is None else SET, "value": value}
            for name, value in changes.items()
        ]
        kind, name = (BROKER_RESOURCE, str(broker)) if topic is None else (TOPIC_RESOURCE, topic)
        answer = await self._ask_here("IncrementalAlterConfigs", _configuring(kind, name, configs), broker)
        for one in answer.responses:
            if one.error_code != ErrorCode.NONE:
                what = f"broker {broker}" if topic is None else f"topic {topic}"
                why = one.error_message or error_name(int(one.error_code))
                raise AdminError(f"{what} does not take its configuration ({why})")

    # ---- brokers in service
    async def set_in_service(self, nodes: Collection[int], view: ClusterView, *, is_in_service: bool) -> None:
        """Takes brokers out of service, or back into it: no replica is placed on a broker out of service. When this
        returns, every broker that is alive knows the change, except brokers that did not confirm it within
        :data:`KNOWN_LIMIT_S`. Raises AdminError."""
        changed = set(nodes) & view.removed if is_in_service else set(nodes) - view.removed
        if not changed:
            return
        operation = SUBTRACT if is_in_service else APPEND
        value = ",".join(map(str, sorted(changed)))
        config = {"name": REMOVED_KEY, "config_operation": operation, "value": value}
        answer = await self.ask_any("IncrementalAlterConfigs", _configuring(BROKER_RESOURCE, "", [config]))
        for one in answer.responses:
            if one.error_code != ErrorCode.NONE:
                reason = one.error_message or int(one.error_code)
                raise AdminError(f"the cluster does not take {REMOVED_KEY} ({reason}); see the logs of the brokers")
        await asyncio.gather(*(self._wait_for_service(node, changed, is_in_service) for node in view.brokers))

    async def _wait_for_service(self, node: int, changed: set[int], is_in_service: bool) -> None:
        expected = set() if is_in_service else changed
        with suppress(TimeoutError, AdminError):
            async with asyncio.timeout(KNOWN_LIMIT_S):
                known: frozenset[int] | None = None
                while known is None or known & changed != expected:
                    await asyncio.sleep(KNOWN_POLL_S)
                    known = await self._removed(node)

    async def _removed(self, node: int | None = None) -> frozenset[int]:
        """The brokers that are out of service, as ``node`` or any broker knows them."""
        resource = {"resource_type": BROKER_RESOURCE, "resource_name": "", "configuration_keys": (REMOVED_KEY,)}
        answer = await self._ask_here("DescribeConfigs", {"resources": [resource]}, node)
        values = [one.value for result in answer.results for one in result.configs if one.name == REMOVED_KEY]
        return parse_removed(values[0] if values else None)

    async def _moving(self, limit_s: float) -> dict[Key, Reassignment]:
        return moves_of(await self._ask_until_done("ListPartitionReassignments", {"topics": None}, limit_s))

    # ---- asking
    async def _metadata(self) -> Any:
        answer = await self.ask_any("Metadata", {"topics": None, **QUIET})
        self.learn_cluster(answer)
        return answer

    async def _held(self, node: int) -> dict[Key, int] | None:
        try:
            return held_bytes(log_dirs_of(await self.ask_broker(node, "DescribeLogDirs", {"topics": None})))
        except AdminError as error:
            if isinstance(error, KafkaError):  # the user may not ask
                return {}
            return None

    async def _ask_here(self, api: str, fields: Mapping[str, Any], node: int | None) -> Any:
        """The answer of a broker, whose configuration this is about, or of any. Raises AdminError."""
        if node is None:
            return await self.ask_any(api, fields)
        reason = "it is not alive any more"
        for one in (await self._metadata()).brokers:
            if one.node_id == node:
                try:
                    return await self._ask_broker_at((one.host, one.port), api, fields)
                except AdminError as error:
                    reason = error.client_message
        raise AdminError(
            f"broker {node} does not take its configuration ({reason}); start it, or run the command again"
        )

    async def _ask_until_done(self, api: str, fields: Mapping[str, Any], limit_s: float = CONTROLLER_LIMIT_S) -> Any:
        """The controller's answer to a request, which any broker passes on; the request is sent again while the answer
        is an error that may pass, for ``limit_s``. Raises AdminError."""
        deadline = asyncio.get_running_loop().time() + limit_s
        timeout_ms = min(TIMEOUT_MS, int(limit_s * 1000))
        timed = {**fields, "timeout_ms": timeout_ms}
        while True:
            answer = await self.ask_any(api, timed, timeout_ms=timeout_ms + ANSWER_MS)
            if answer.error_code == ErrorCode.NOT_CONTROLLER:  # of brokers that pass nothing on (Kafka with ZooKeeper)
                await self.cluster(is_fresh=True)
                answer = await self.ask_controller(api, timed, timeout_ms=timeout_ms + ANSWER_MS)
            if answer.error_code == ErrorCode.NONE:
                return answer
            reason = answer.error_message or error_name(int(answer.error_code))
            if answer.error_code in REFUSALS or asyncio.get_running_loop().time() > deadline:
                kind = NotAllowedError if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else AdminError
                raise kind(f"The controller does not do what it is asked ({reason}); see the logs of the brokers")
            await asyncio.sleep(RETRY_S)


def _configuring(kind: int, name: str, configs: list[dict[str, Any]]) -> dict[str, Any]:
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    return {"resources": [resource], "validate_only": False}


def names_of(keys: Iterable[Key]) -> str:
    """The names of the partitions for a sentence: the first five, and how many more there are."""
    named = [f"{topic}-{number}" for topic, number in keys]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")
