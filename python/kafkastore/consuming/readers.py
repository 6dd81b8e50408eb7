"""What reads records of topics: :class:`GroupReader` as a member of a group, :class:`TopicReader` whatever others read.

Both are asked with ``poll``, by one thread; a group's heartbeats are sent by another one, so that a caller that is held
up by its own reader (``| less``) keeps its place. Topics come and go: names and patterns are looked up again every
``metadata.max.age.ms``. Nothing here prints: what goes wrong and is tried again is told to ``warn``.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore._core import ClientError, Consumer
from kafkastore.admin.admin_client import QUIET, AdminClient, AdminError, KafkaError, refusals
from kafkastore.admin.offsets import EARLIEST, LATEST
from kafkastore.admin.topics import all_topics
from kafkastore.consuming.group_member import GroupMember, settings_of
from kafkastore.consuming.loop_thread import LoopThread
from kafkastore.errors import ConfigError, ErrorCode

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Mapping

    from kafkastore._core import FetchedRecords
    from kafkastore.consuming.assignors import Partition

    Listener = Callable[[list[Partition]], None]

RESETS: Final = {"earliest": EARLIEST, "latest": LATEST}
"""What ``auto.offset.reset`` says of a partition without a committed offset; ``none``: that is an error."""
METADATA_OF_NAMES: Final = 9
"""The last version of Metadata that names topics alone."""
LOOK_AGAIN_S: Final = 1.0
"""How soon a topic that is not there is looked for again."""
STEP_MS: Final = 100
"""The longest that a poll does not look whether the group changes."""
MOST_RECORDS: Final = 10_000
"""Of one poll, where the caller gives no number."""


class ReadError(AdminError):
    """Records cannot be read: one sentence."""


class Topics(NamedTuple):
    """Which topics are read: names, or those whose whole name a pattern matches. ``has_internal``: those of the brokers
    themselves may match."""

    names: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    has_internal: bool = False

    async def partitions(self, client: AdminClient, *, creates: bool) -> dict[str, int]:
        """How many partitions each topic has that there is. Raises KafkaError for one that may not be read."""
        if self.pattern is not None:
            known = sorted((await all_topics(client)).items())
            matching = [(name, one) for name, one in known if self.pattern.fullmatch(name)]
            return {name: len(one.partitions) for name, one in matching if self.has_internal or not one.is_internal}
        fields = {"topics": [{"name": name} for name in self.names], **QUIET, "allow_auto_topic_creation": creates}
        answer = await client.ask_any("Metadata", fields, highest=METADATA_OF_NAMES)
        client.learn_cluster(answer)
        refused = refusals((topic.name, topic) for topic in answer.topics)
        for name, error in refused.items():
            if not error.passes and error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise KafkaError(error.code, f"{name}: {error}")
        there = sorted((topic.name, len(topic.partitions)) for topic in answer.topics)
        return {name: count for name, count in there if name not in refused}


class Reader:
    """See the module; what both readers have."""

    def __init__(self, properties: Mapping[str, str], warn: Callable[[str], None] = lambda _: None) -> None:
        """Raises ConfigError for properties that mean nothing; connects to nothing."""
        self._properties = dict(properties)
        self._warn = warn
        self.assigned: list[Partition] = []
        """What is read now."""
        self.has_looked = False
        """Whether it is known what is to be read."""
        self._is_creating = properties.get("allow.auto.create.topics", "true").lower() == "true"
        try:
            self.consumer = Consumer(_of_consumer(self._properties))
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def poll(self, timeout_ms: int, max_records: int = MOST_RECORDS) -> list[FetchedRecords]:
        """Records, of each partition together; none when none came in time. Raises ReadError, AdminError."""
        until = time.monotonic() + timeout_ms / 1000
        while True:
            self._keep_up()
            left_ms = int(max(until - time.monotonic(), 0) * 1000)
            found = self._polled(min(left_ms, STEP_MS), max_records)
            if found or left_ms == 0:
                return found

    def _polled(self, timeout_ms: int, max_records: int) -> list[FetchedRecords]:
        try:
            return self.consumer.poll(timeout_ms, max_records)
        except ClientError as error:
            if not error.is_retriable:
                raise ReadError(str(error), error.code or ErrorCode.UNKNOWN_SERVER_ERROR) from None
            self._warn(str(error))
            return []
        finally:
            for sentence in self.consumer.take_warnings():
                self._warn(sentence)

    def _keep_up(self) -> None:
        """Looks whether other partitions are to be read."""
        raise NotImplementedError

    def close(self, *, is_done: bool = True) -> None:  # noqa: ARG002 - whoever reads for a group commits
        """``is_done``: what the last poll returned was dealt with."""
        self.consumer.close()

    def _client(self) -> AdminClient:
        client = AdminClient(self._properties["bootstrap.servers"], self._properties)
        client.client_id = self._properties.get("client.id") or client.client_id
        return client

    @property
    def _age_s(self) -> float:
        return int(self._properties.get("metadata.max.age.ms", "300000")) / 1000


def _of_consumer(properties: Mapping[str, str]) -> dict[str, str]:
    return {key: str(value) for key, value in properties.items()}


class TopicReader(Reader):
    """Reads topics, or some of their partitions, from where it is told."""

    def __init__(
        self,
        properties: Mapping[str, str],
        topics: Topics,
        *,
        starts: Callable[[dict[str, int]], dict[Partition, int]] | None = None,
        on_assigned: Listener = lambda _: None,
        on_revoked: Listener = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``starts`` says where which partitions are read, of topics with so many partitions each; -2 is the first
        record, -1 the end. Without it all are read from where ``auto.offset.reset`` says."""
        super().__init__(properties, warn)
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        self._topics = topics
        reset = RESETS.get(self._properties.get("auto.offset.reset", "latest"), LATEST)
        self._starts = starts or (lambda counts: dict.fromkeys(_partitions_of(counts), reset))
        self._counts: dict[str, int] = {}
        self._look_at = 0.0
        self._is_first = True

    def _keep_up(self) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        counts = asyncio.run(self._look())
        is_whole = bool(counts) and set(self._topics.names) <= set(counts)
        self._look_at = now + (self._age_s if is_whole else min(self._age_s, LOOK_AGAIN_S))
        if counts == self._counts and not self._is_first:
            return
        if not self._is_first:
            self._on_revoked(self.assigned)
        kept = self.consumer.positions()
        new = self._starts(counts)
        if not self._is_first:  # what has come since has no record before
            known = set(_partitions_of(self._counts))
            new = {one: start if one in known else EARLIEST for one, start in new.items()}
        self.consumer.assign({one: kept.get(one, start) for one, start in new.items()})
        self._counts, self._is_first = counts, False
        self.assigned, self.has_looked = list(new), True
        self._on_assigned(self.assigned)
        self._warn_of_missing(counts)

    async def _look(self) -> dict[str, int]:
        async with self._client().within() as client:
            return await self._topics.partitions(client, creates=self._is_creating)

    def _warn_of_missing(self, counts: Collection[str]) -> None:
        for name in self._topics.names:
            if name not in counts:
                self._warn(f"there is no topic {name}; waiting for it")


class GroupReader(Reader):
    """Reads what its group gives it."""

    def __init__(
        self,
        properties: Mapping[str, str],
        topics: Topics,
        *,
        on_assigned: Listener = lambda _: None,
        on_revoked: Listener = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``group.id`` is among the properties."""
        super().__init__(properties, warn)
        settings = settings_of(self._properties)
        self._is_committing = self._properties.get("enable.auto.commit", "true").lower() == "true"
        self._commit_s = int(self._properties.get("auto.commit.interval.ms", "5000")) / 1000
        self._topics = topics
        self._on_assigned, self._on_revoked = on_assigned, on_revoked
        self._counts: dict[str, int] = {}
        self._committed: dict[Partition, int] = {}
        self._dealt_with: dict[Partition, int] = {}
        self._commit_at = time.monotonic() + self._commit_s
        self._look_at = 0.0
        self._admin = self._client()
        self._thread = LoopThread()
        self._member = GroupMember(self._admin, settings)

    def commit(self, offsets: Mapping[Partition, int] | None = None) -> None:
        """Commits where the reader is, or these offsets. Raises KafkaError."""
        wanted = self._positions() if offsets is None else dict(offsets)
        changed = {one: offset for one, offset in wanted.items() if self._committed.get(one) != offset}
        self._thread.run(self._member.commit(changed))
        self._committed |= changed

    def close(self, *, is_done: bool = True) -> None:
        """Commits where commits are automatic, leaves the group."""
        try:
            self._commit_quietly(None if is_done else self._dealt_with)
            if self.assigned:
                self._on_revoked(self.assigned)
            self._thread.run(self._member.close())
        finally:
            self._thread.run(self._admin.aclose())
            self._thread.close()
            super().close(is_done=is_done)

    def _keep_up(self) -> None:
        now = time.monotonic()
        self._member.read_at = now
        self._dealt_with = self._positions()
        if self._member.failure is not None:
            raise self._member.failure
        if not self._member.needs_join and now >= self._look_at:
            self._look(now)
        if self._member.needs_join:
            self._join()
        elif self._is_committing and now >= self._commit_at:
            self._commit_quietly()

    def _look(self, now: float) -> None:
        """A member whose topics change joins again; so does the leader when their partitions change."""
        counts = self._thread.run(self._topics.partitions(self._admin, creates=self._is_creating))
        is_other = counts != self._counts if self._member.is_leader else counts.keys() != self._counts.keys()
        self._member.needs_join |= is_other
        self._look_at = now + (self._age_s if counts else min(self._age_s, LOOK_AGAIN_S))

    def _join(self) -> None:
        self._commit_quietly()
        if self.assigned:
            self._on_revoked(self.assigned)
        self._counts = self._thread.run(self._topics.partitions(self._admin, creates=self._is_creating))
        for name in self._topics.names:
            if name not in self._counts:
                self._warn(f"there is no topic {name}; waiting for it")
        names = self._topics.names or tuple(self._counts)
        owned, self.assigned = self.assigned, []
        self.assigned = self._thread.run(self._member.join(names, owned))
        self._committed = self._thread.run(self._member.committed(self.assigned))
        self.consumer.assign({one: self._committed.get(one, self._reset(one)) for one in self.assigned})
        self.has_looked = True
        now = time.monotonic()
        self._look_at = now + (self._age_s if self._counts else min(self._age_s, LOOK_AGAIN_S))
        self._commit_at = now + self._commit_s
        self._on_assigned(self.assigned)

    def _reset(self, partition: Partition) -> int:
        reset = self._properties.get("auto.offset.reset", "latest")
        if reset == "none" and partition not in self._committed:
            topic, number = partition
            raise ReadError(f"Undefined offset with no reset policy for partitions: [{topic}-{number}]")
        return RESETS.get(reset, LATEST)

    def _commit_quietly(self, offsets: dict[Partition, int] | None = None) -> None:
        """The automatic commit; one that fails is told, and what it would say comes with the next."""
        if not self._is_committing or not self.assigned:
            return
        self._commit_at = time.monotonic() + self._commit_s
        try:
            self.commit(offsets)
        except KafkaError as error:
            self._warn(f"offsets are not committed: {error}")

    def _positions(self) -> dict[Partition, int]:
        return dict(self.consumer.positions())


def _partitions_of(counts: Mapping[str, int]) -> list[Partition]:
    return [(topic, number) for topic, count in counts.items() for number in range(count)]
