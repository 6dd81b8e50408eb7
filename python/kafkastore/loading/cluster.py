"""What a load asks the brokers: Kafka's own requests, and AdoptSegments, which only kafkastore's brokers have.

Blocks nothing: small requests share the connection to each broker, and each adoption, which may take long, has one of
its own.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkastore.errors import ErrorCode, KafkastoreError, error_name, plain_name
from kafkastore.interbroker.cluster import Brokers
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from kafkastore.loading import staging
from kafkastore.messages import OutgoingRequest
from kafkastore.scanning.broker_offsets import parse_servers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.interbroker.command_config import CommandConfig

ADOPT_SEGMENTS = 27000
ADOPTION_TIMEOUT_MS = 60_000
"""How long an adoption may wait for the in-sync replicas before it is asked again."""
ANSWER_MS = 600_000
"""Added to that: the broker reads all segments before it appends them."""
NEW_TOPIC_S = 2.0
"""How long a topic that was just created may be unknown to the broker that is asked."""
RETRY_S = 0.3
TRANSACTION_TIMEOUT_MS = 60_000
TOPIC_RESOURCE = 2
GROUP_KEY, TRANSACTION_KEY = 0, 1
EVERYTHING = (1 << 31) - 1
"""More records than any load has: a broker answers with how many it has."""

PASSING = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
    }
)
"""Errors that may end by themselves; the same request is sent again."""


FENCED = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED})


class LoadError(KafkastoreError):
    """A load that cannot go on; one sentence. What the logs have of it stays there."""


class FencedError(LoadError):
    """Another call has begun the load again, and has the next epoch."""

    def __init__(self, load_id: str | None) -> None:
        super().__init__(f"load {load_id} was begun again by another call, and this one has ended")


class Leader(NamedTuple):
    """Where a partition is led."""

    node_id: int
    host: str
    port: int
    told_dir: Path | None
    """The log directory, as the broker names it."""
    is_here: bool
    """Whether that directory is on this machine."""

    @property
    def log_dir(self) -> Path | None:
        """None when it is not on this machine."""
        return self.told_dir if self.is_here else None


@dataclass(frozen=True)
class LoadTopic:
    """The facts about a topic that a load needs."""

    name: str
    cluster_id: str
    leaders: tuple[Leader, ...]
    """By partition."""
    segment_bytes: int
    max_message_bytes: int
    compression_type: str
    is_compacted: bool


class LoadedOffsets(NamedTuple):
    """What the log of a partition has of a load."""

    base_offset: int
    last_offset: int
    records: int


class LoadClient(Brokers):
    """See the module."""

    key = "bootstrap_servers"
    client_id = "kafkastore-load"
    error = LoadError

    def __init__(
        self, bootstrap_servers: str | Sequence[str], timeout_s: float, command_config: CommandConfig = None
    ) -> None:
        super().__init__(parse_servers(bootstrap_servers), command_config)
        self._timeout_s = timeout_s

    # ---- the topic
    async def topic(self, name: str) -> LoadTopic:
        """The topic, with the log directories of its leaders. Raises LoadError."""
        metadata = await self._metadata(name)
        (topic,) = metadata.topics
        nodes = {one.node_id: one for one in metadata.brokers}
        partitions = sorted(topic.partitions, key=lambda one: int(one.partition_index))
        for one in partitions:
            if one.leader_id not in nodes:
                raise LoadError(f"partition {name}-{one.partition_index} has no leader; start its brokers")
        dirs: dict[tuple[int, int], Path] = {}
        for node_id in sorted({one.leader_id for one in partitions}):
            broker = nodes[node_id]
            await self._check_serves(broker.host, broker.port)
            of_node = await self._log_dirs(broker.host, broker.port, name)
            dirs |= {(node_id, partition): path for partition, path in of_node.items()}
        leaders = []
        for one in partitions:
            broker, path = nodes[one.leader_id], dirs.get((one.leader_id, one.partition_index))
            is_here = path is not None and staging.identity_of(path) == (metadata.cluster_id, str(one.leader_id))
            leaders.append(Leader(one.leader_id, broker.host, broker.port, path, is_here))
        values = await self._configs(name)
        return LoadTopic(
            name,
            metadata.cluster_id or "",
            tuple(leaders),
            int(values["segment.bytes"]),
            int(values["max.message.bytes"]),
            values["compression.type"],
            "compact" in values["cleanup.policy"],
        )

    async def _metadata(self, name: str) -> Any:
        fields = {
            "topics": [{"name": name}],
            "allow_auto_topic_creation": False,
            "include_cluster_authorized_operations": False,
            "include_topic_authorized_operations": False,
        }
        request = OutgoingRequest("Metadata", 9, fields)
        until = asyncio.get_running_loop().time() + NEW_TOPIC_S
        while True:
            answer = await self._ask_any(request)
            code = answer.topics[0].error_code if answer.topics else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or asyncio.get_running_loop().time() >= until:
                break
            await asyncio.sleep(RETRY_S)
        self._learn(answer.brokers)
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise LoadError(f"topic {name} does not exist; create it first")
        if code != ErrorCode.NONE:
            fix = "; allow WRITE on it" if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED else ""
            raise LoadError(f"topic {name} cannot be loaded ({error_name(int(code))}){fix}")
        return answer

    async def _check_serves(self, host: str, port: int) -> None:
        about = {"client_software_name": self.client_id, "client_software_version": "0"}
        answer = await self._send(host, port, OutgoingRequest("ApiVersions", 3, about))
        if ADOPT_SEGMENTS not in {int(one.api_key) for one in answer.api_keys}:
            raise LoadError(f"the broker at {host}:{port} is no kafkastore broker of this version; use a producer")

    async def _log_dirs(self, host: str, port: int, name: str) -> dict[int, Path]:
        answer = await self._send(host, port, OutgoingRequest("DescribeLogDirs", 2, {"topics": None}))
        if not answer.results:  # how a broker refuses
            raise LoadError(
                f"the broker at {host}:{port} does not show its log directories; allow DESCRIBE on the cluster to the "
                "user of the load"
            )
        return {
            int(one.partition_index): Path(directory.log_dir)
            for directory in answer.results
            for topic in directory.topics
            if topic.name == name
            for one in topic.partitions
            if not one.is_future_key
        }

    async def _configs(self, name: str) -> dict[str, str]:
        keys = ("segment.bytes", "max.message.bytes", "compression.type", "cleanup.policy")
        resource = {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": keys}
        answer = await self._ask_any(OutgoingRequest("DescribeConfigs", 4, {"resources": [resource]}))
        (found,) = answer.results
        if found.error_code != ErrorCode.NONE:
            raise LoadError(f"topic {name} does not show its configuration ({found.error_message})")
        return {one.name: one.value or "" for one in found.configs}

    # ---- the producer
    async def producer(self, load_id: str | None) -> tuple[int, int]:
        """(producer id, epoch): new ones, or those of the transactional id ``load_id``, with the next epoch."""
        fields = {"transactional_id": load_id, "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS}
        request = OutgoingRequest("InitProducerId", 4, fields)
        answer = await self.ask_coordinator(load_id, TRANSACTION_KEY, request)
        return int(answer.producer_id), int(answer.producer_epoch)

    async def ask_coordinator(
        self,
        key: str | None,
        key_type: int,
        request: OutgoingRequest,
        *,
        codes_of: Callable[[Any], set[int]] = lambda answer: {int(answer.error_code)},
    ) -> Any:
        """The answer, free of errors, of the coordinator of the transactional id or group ``key`` (of any broker for
        None). Waits while a coordinator is not there or not ready. Raises LoadError."""
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        while True:
            answer, codes = await self._ask_coordinator_once(key, key_type, request, codes_of)
            failed = codes - {ErrorCode.NONE}
            if not failed:
                return answer
            if not failed <= PASSING or asyncio.get_running_loop().time() > deadline:
                if failed & FENCED:
                    raise FencedError(key)
                names = ", ".join(sorted(plain_name(code) or str(code) for code in failed))
                raise LoadError(f"the cluster refuses {request.api} ({names}); try again later")
            await asyncio.sleep(RETRY_S)

    async def _ask_coordinator_once(
        self, key: str | None, key_type: int, request: OutgoingRequest, codes_of: Callable[[Any], set[int]]
    ) -> tuple[Any, set[int]]:
        if key is None:
            answer = await self._ask_any(request)
            return answer, codes_of(answer)
        found = await self._ask_any(OutgoingRequest("FindCoordinator", 3, {"key": key, "key_type": key_type}))
        if found.error_code != ErrorCode.NONE:
            return found, {int(found.error_code)}
        try:
            answer = await self._send(found.host, found.port, request)
        except LoadError:
            return None, {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        return answer, codes_of(answer)

    # ---- the adoption
    async def records_in(self, topic: LoadTopic, partition: int, producer: tuple[int, int]) -> int:
        """How many records of the load the log has."""
        answer = await self._adopt_until_done(topic, partition, producer, 0, EVERYTHING, is_new=False)
        if answer.records < 0:
            raise _refusal(topic, partition, answer)
        return int(answer.records)

    async def adopt(
        self, topic: LoadTopic, partition: int, producer: tuple[int, int], first: int, count: int, *, is_new: bool
    ) -> LoadedOffsets:
        """Has the leader append what is staged, and waits for the in-sync replicas. Raises LoadError."""
        answer = await self._adopt_until_done(topic, partition, producer, first, count, is_new=is_new)
        if answer.error_code == ErrorCode.NONE:
            return LoadedOffsets(answer.base_offset, answer.last_offset, answer.records)
        raise _refusal(topic, partition, answer)

    async def _adopt_until_done(
        self, topic: LoadTopic, partition: int, producer: tuple[int, int], first: int, count: int, *, is_new: bool
    ) -> Any:
        leader = topic.leaders[partition]
        deadline = asyncio.get_running_loop().time() + self._timeout_s
        while True:
            requested = {
                "topic": topic.name,
                "partition": partition,
                "producer_id": producer[0],
                "producer_epoch": producer[1],
                "first_sequence": first,
                "record_count": count,
                "is_new": is_new,
                "timeout_ms": ADOPTION_TIMEOUT_MS,
            }
            request = OutgoingRequest("AdoptSegments", 0, requested)
            client = self._connect(leader.host, leader.port)
            try:
                answer = await client.send(request, ADOPTION_TIMEOUT_MS + ANSWER_MS)
                reason = answer.error_message
                is_passing = answer.error_code in PASSING
            except BrokerUnreachableError as error:
                answer, reason, is_passing = None, error.client_message, True
            finally:
                await client.close()
            if not is_passing:
                return answer
            is_new = False
            if asyncio.get_running_loop().time() > deadline:
                raise LoadError(
                    f"{topic.name}-{partition} has not confirmed the load in {self._timeout_s:g} s: {reason}"
                )
            await asyncio.sleep(RETRY_S)
            leader = await self._follow(topic, partition, producer, leader)

    async def _follow(self, topic: LoadTopic, partition: int, producer: tuple[int, int], leader: Leader) -> Leader:
        """The partition's leader now. What is staged goes along when its log directory is on this file system."""
        with suppress(LoadError):
            now = (await self.topic(topic.name)).leaders[partition]
            if now.node_id != leader.node_id and leader.log_dir is not None and now.log_dir is not None:
                name = staging.dir_name(topic.name, partition, *producer)
                staging.move(leader.log_dir / name, now.log_dir / name)
            return now
        return leader


def _refusal(topic: LoadTopic, partition: int, answer: Any) -> LoadError:
    reason = answer.error_message or error_name(int(answer.error_code))
    return LoadError(f"{topic.name}-{partition} does not take the load: {reason}")
