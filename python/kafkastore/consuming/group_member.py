"""A member of a classic consumer group: joins, keeps its place with heartbeats, commits offsets, leaves.

What a member gets at a join it reads until ``needs_join`` is true: the group changes, or takes the member for dead.
Then its reader commits what was read, and joins again. Runs on one loop, which nothing may hold up: the heartbeats are
sent on it. Reads no record.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkastore.admin.admin_client import GROUP_KEY, AdminError, KafkaError, check
from kafkastore.admin.assignments import read_assignment
from kafkastore.admin.routing import by_topic
from kafkastore.admin.topics import TopicDescription, topics_in_metadata
from kafkastore.consuming.assignors import (
    ASSIGNORS,
    PROTOCOL_TYPE,
    assignment_bytes,
    read_subscription,
    subscription_bytes,
)
from kafkastore.errors import ConfigError, ErrorCode
from kafkastore.interbroker.cluster import TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kafkastore.admin.admin_client import AdminClient
    from kafkastore.consuming.assignors import Partition

ANSWER_MS: Final = 5_000
"""How much longer than a rebalance may take its answer is waited for, as Kafka's clients wait."""
COMMIT_BY_NAME: Final = 9
"""The last version of OffsetCommit whose topics have names."""
FETCH_OF_ONE: Final = 7
"""The last version of OffsetFetch that is about one group."""
STABLE_FROM: Final = 7
LEAVE_OF_MANY: Final = 3
"""The first version of LeaveGroup with rows of members."""
REBALANCE_UNDER_WAY: Final = ErrorCode.REBALANCE_IN_PROGRESS
OUT_OF_GROUP: Final = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION)
"""The group does not know the member any more, or not as what it was."""
STRATEGY_KEY: Final = "partition.assignment.strategy"
DEFAULT_STRATEGY: Final = "range"


class GroupSettings(NamedTuple):
    """Kafka's keys for a member; see :func:`settings_of`."""

    group_id: str
    instance_id: str | None = None
    strategies: tuple[str, ...] = (DEFAULT_STRATEGY,)
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    rack: str | None = None


def settings_of(properties: Mapping[str, str]) -> GroupSettings:
    """Raises ConfigError for values that mean nothing here."""

    def number(key: str, default: int) -> int:
        text = properties.get(key, str(default)).strip()
        if not (text.isascii() and text.isdigit()):
            raise ConfigError(f"{key}: {text} is no whole number of milliseconds; give one")
        return int(text)

    protocol = properties.get("group.protocol", "classic")
    if protocol.lower() != "classic":
        raise ConfigError(f"group.protocol: {protocol} is not spoken here; leave it out, or give classic")
    defaults = GroupSettings(properties["group.id"])
    return GroupSettings(
        defaults.group_id,
        properties.get("group.instance.id") or None,
        _strategies(properties.get(STRATEGY_KEY, DEFAULT_STRATEGY)),
        number("session.timeout.ms", defaults.session_timeout_ms),
        number("heartbeat.interval.ms", defaults.heartbeat_interval_ms),
        number("max.poll.interval.ms", defaults.max_poll_interval_ms),
        properties.get("client.rack") or None,
    )


def _strategies(text: str) -> tuple[str, ...]:
    """The assignors' names out of a list of names or of Kafka's classes."""
    names = []
    for given in text.split(","):
        name = given.strip().rpartition(".")[2].removesuffix("Assignor").lower()
        if name not in ASSIGNORS:
            raise ConfigError(f"{STRATEGY_KEY}: {given.strip()} is none of {', '.join(ASSIGNORS)}; give one of them")
        names.append(name)
    return tuple(names)


class GroupMember:
    """See the module."""

    def __init__(self, client: AdminClient, settings: GroupSettings) -> None:
        self.settings = settings
        self.needs_join = True
        self.failure: KafkaError | None = None
        """Why the member cannot be one: a later join does not mend it."""
        self.read_at = time.monotonic()
        """When the reader last asked for records: one that is busy for longer than max.poll.interval.ms is taken for
        stuck, and leaves."""
        self.is_leader = False
        self._client = client
        self._member_id = ""
        self._generation = -1
        self._beats: asyncio.Task[None] | None = None

    # ---- joining
    async def join(self, topics: Sequence[str], owned: Iterable[Partition] = ()) -> list[Partition]:
        """What this member reads of these topics, from now on. Raises KafkaError, AdminError."""
        self._end_beats()
        subscription = subscription_bytes(topics, owned, self.settings.rack)
        while True:
            try:
                assigned = await self._client.until_done(lambda: self._join_once(subscription))
                break
            except KafkaError as error:
                if error.code in OUT_OF_GROUP:
                    self._forget_place(error)
                elif error.code != REBALANCE_UNDER_WAY:
                    raise
        self.needs_join = False
        self._beats = asyncio.create_task(self._beat())
        return assigned

    async def _join_once(self, subscription: bytes) -> list[Partition]:
        settings = self.settings
        protocols = [{"name": name, "metadata": subscription} for name in settings.strategies]
        fields = {
            "group_id": settings.group_id,
            "session_timeout_ms": settings.session_timeout_ms,
            "rebalance_timeout_ms": settings.max_poll_interval_ms,
            "protocol_type": PROTOCOL_TYPE,
            "protocols": protocols,
        }
        limit_ms = settings.max_poll_interval_ms + ANSWER_MS
        joined = await self._ask("JoinGroup", fields | self._name(), limit_ms)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self._member_id = joined.member_id
            joined = await self._ask("JoinGroup", fields | self._name(), limit_ms)
        check(joined)
        self._member_id, self._generation = joined.member_id, joined.generation_id
        self.is_leader = joined.leader == joined.member_id
        is_assigning = self.is_leader and not joined.skip_assignment
        assignments = await self._assign(joined) if is_assigning else []
        fields = {"group_id": settings.group_id, "generation_id": self._generation, "assignments": assignments}
        names = {"protocol_type": PROTOCOL_TYPE, "protocol_name": joined.protocol_name}
        synced = await self._ask("SyncGroup", {**fields, **names, **self._name()}, limit_ms)
        check(synced)
        return read_assignment(synced.assignment)

    async def _assign(self, joined: Any) -> list[dict[str, Any]]:
        """The leader's work."""
        members = [read_subscription(one.member_id, one.group_instance_id, one.metadata) for one in joined.members]
        topics = sorted({topic for member in members for topic in member.topics})
        known = await topics_in_metadata(self._client, topics) if topics else {}
        counts = {name: len(one.partitions) for name, one in known.items() if isinstance(one, TopicDescription)}
        assigned = ASSIGNORS[joined.protocol_name](members, counts)
        return [{"member_id": member, "assignment": assignment_bytes(given)} for member, given in assigned.items()]

    # ---- staying
    async def _beat(self) -> None:
        settings = self.settings
        while True:
            await asyncio.sleep(settings.heartbeat_interval_ms / 1000)
            if time.monotonic() - self.read_at > settings.max_poll_interval_ms / 1000:
                self.needs_join = True
                await self._leave()
                return
            try:
                await self._client.until_done(self._beat_once)
            except KafkaError as error:
                if error.code == REBALANCE_UNDER_WAY:
                    self.needs_join = True
                elif error.code in OUT_OF_GROUP:
                    self._forget_place(error)
                    return
                elif not error.passes:
                    self.failure, self.needs_join = error, True
                    return

    async def _beat_once(self) -> None:
        fields = {"group_id": self.settings.group_id, "generation_id": self._generation}
        check(await self._ask("Heartbeat", fields | self._name()))

    def _forget_place(self, error: KafkaError) -> None:
        if error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            self._member_id = ""
        self._generation = -1
        self.needs_join = True

    def _end_beats(self) -> None:
        if self._beats is not None:
            self._beats.cancel()
            self._beats = None

    # ---- offsets
    async def committed(self, partitions: Sequence[Partition]) -> dict[Partition, int]:
        """The committed offsets of those of the partitions that have one. Raises KafkaError, AdminError."""
        if not partitions:
            return {}
        rows = [{"name": topic, "partition_indexes": numbers} for topic, numbers in by_topic(partitions).items()]
        fields: dict[str, Any] = {"group_id": self.settings.group_id, "topics": rows}
        if await self._client.serves("OffsetFetch", STABLE_FROM):
            fields["require_stable"] = True

        async def attempt() -> dict[Partition, int]:
            answer = await self._ask("OffsetFetch", fields, highest=FETCH_OF_ONE)
            check(answer)
            found = [(topic.name, one) for topic in answer.topics for one in topic.partitions]
            for _, one in found:
                check(one)
            offsets = {(name, one.partition_index): int(one.committed_offset) for name, one in found}
            return {partition: offset for partition, offset in offsets.items() if offset >= 0}

        return await self._client.until_done(attempt)

    async def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commits the offsets that are to be read next. Raises KafkaError, also when the group has gone on without the
        member, and AdminError."""
        if not offsets:
            return
        if self._generation < 0:  # to commit without a generation is what clients outside of groups do
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        rows = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": number, "committed_offset": offsets[topic, number], "committed_metadata": ""}
                    for number in numbers
                ],
            }
            for topic, numbers in by_topic(offsets).items()
        ]
        place = {"group_id": self.settings.group_id, "generation_id_or_member_epoch": self._generation}

        async def attempt() -> None:
            answer = await self._ask("OffsetCommit", {**place, "topics": rows, **self._name()}, highest=COMMIT_BY_NAME)
            for topic in answer.topics:
                for one in topic.partitions:
                    check(one)

        await self._client.until_done(attempt)

    # ---- leaving
    async def close(self) -> None:
        """Leaves the group, but for a member with a name of its own, whose place is kept until it comes back."""
        self._end_beats()
        if self.settings.instance_id is None:
            await self._leave()

    async def _leave(self) -> None:
        if not self._member_id:
            return
        group = {"group_id": self.settings.group_id}
        try:
            if await self._client.serves("LeaveGroup", LEAVE_OF_MANY):
                await self._ask("LeaveGroup", {**group, "members": [self._name()]})
            else:
                await self._ask("LeaveGroup", {**group, "member_id": self._member_id})
        except AdminError:
            pass  # the group takes it for dead after the session timeout
        self._member_id, self._generation = "", -1

    # ---- asking
    def _name(self) -> dict[str, Any]:
        instance_id = self.settings.instance_id
        named = {} if instance_id is None else {"group_instance_id": instance_id}
        return {"member_id": self._member_id, **named}

    async def _ask(
        self, api: str, fields: Mapping[str, Any], timeout_ms: int = TIMEOUT_MS, *, highest: int | None = None
    ) -> Any:
        """The coordinator's answer. Raises KafkaError; one that passes when the coordinator does not answer."""
        try:
            node = await self._client.coordinator(GROUP_KEY, self.settings.group_id)
            return await self._client.ask_broker(node, api, fields, timeout_ms=timeout_ms, highest=highest)
        except KafkaError:
            raise
        except AdminError as error:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.client_message) from None
