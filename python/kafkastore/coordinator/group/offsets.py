"""Committed offsets: commit and fetch (spec R4.8), and the cache of one group.

Invariants: the cache changes only after the append, in the order of the log: every change carries the offset of its
record in ``__consumer_offsets``, and an older record never replaces a newer one. So what a fetch tells survives a
restart. ``pending_offsets`` counts commits that are being appended; a deletion writes tombstones for them too, so that
a commit that is under way cannot come back to life at the next load.

``transactional_offsets`` are those of transactions that were open at the end of an adopted log: no fetch tells them, and
one that asks for stable offsets gets UNSTABLE_OFFSET_COMMIT for their partitions (KIP-447).

Requests with many rows are served in steps (see ``steps``). A commit is made ready in steps and then checked and appended in one.
A fetch reads row by row, each as it is committed at that moment; when its group has moved to another broker meanwhile, its answer
is that error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.offsets_log import response_error
from kafkastore.coordinator.group.records import (
    NO_LEADER_EPOCH,
    NO_TIMESTAMP,
    OffsetValue,
    offset_key,
    offset_value,
)
from kafkastore.coordinator.group.steps import ITEMS
from kafkastore.errors import ErrorCode

if TYPE_CHECKING:
    from kafkastore.coordinator.group.config import GroupConfig
    from kafkastore.coordinator.group.group import Group
    from kafkastore.coordinator.group.group_store import GroupStore
    from kafkastore.coordinator.group.records import Record
    from kafkastore.coordinator.group.steps import Steps

logger = logging.getLogger("kafkastore.coordinator.group")

NO_OFFSET: Final = -1
DEFAULT_RETENTION: Final = -1


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int  # NO_TIMESTAMP: the broker's retention applies
    topic_id: bytes | None
    record_offset: int  # where it is written


class CommitPartition(NamedTuple):
    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None


class CommitTopic(NamedTuple):
    name: str
    topic_id: bytes | None
    partitions: tuple[CommitPartition, ...]


class CommitRequest(NamedTuple):
    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_id: int
    api_version: int
    topics: tuple[CommitTopic, ...]
    retention_time_ms: int = DEFAULT_RETENTION


PartitionErrors = list[tuple[str, list[tuple[int, int]]]]  # [(topic, [(partition, error code)])] in the order asked
CommitRespond = Callable[[PartitionErrors], None]


class FetchedPartition(NamedTuple):
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    error_code: int


class FetchResult(NamedTuple):
    error_code: int
    topics: list[tuple[str, list[FetchedPartition]]]


NOTHING_COMMITTED: Final = (NO_OFFSET, NO_LEADER_EPOCH, "", ErrorCode.NONE)


class PreparedCommit(NamedTuple):
    """What a commit writes and answers, if the group lets it."""

    request: CommitRequest
    records: list[Record]
    committed: list[tuple[str, int, OffsetValue]]  # one for each record
    errors: PartitionErrors  # of the partitions, when the append succeeds


class Offsets:
    __slots__ = ("config", "store")

    def __init__(self, config: GroupConfig, store: GroupStore) -> None:
        self.config = config
        self.store = store

    # ---- commit

    def prepare_commit(self, request: CommitRequest) -> Steps[PreparedCommit]:
        """Makes the records, and looks at no group: nothing that changes between the steps is relied on. Stops making records
        when they cannot be one batch any more; ``commit`` refuses those."""
        now_ms = self.store.clock.now_ms()
        expires_ms = NO_TIMESTAMP
        if request.retention_time_ms != DEFAULT_RETENTION:
            expires_ms = now_ms + request.retention_time_ms
        prepared = PreparedCommit(request, [], [], [])
        limit = self.store.log.max_batch_bytes()
        size = 0
        for topic in request.topics:
            topic_errors: list[tuple[int, int]] = []
            prepared.errors.append((topic.name, topic_errors))
            for number, wanted in enumerate(topic.partitions, 1):
                if number % ITEMS == 0:
                    yield None
                metadata = wanted.metadata or ""
                if self._is_too_large(metadata):
                    topic_errors.append((wanted.partition, ErrorCode.OFFSET_METADATA_TOO_LARGE))
                    continue
                topic_errors.append((wanted.partition, ErrorCode.NONE))
                if size > limit:
                    continue
                value = OffsetValue(wanted.offset, wanted.leader_epoch, metadata, now_ms, expires_ms, topic.topic_id)
                record = (offset_key(request.group_id, topic.name, wanted.partition), offset_value(value))
                size += len(record[0]) + len(record[1])
                prepared.committed.append((topic.name, wanted.partition, value))
                prepared.records.append(record)
            yield None
        return prepared

    def commit(self, prepared: PreparedCommit, respond: CommitRespond) -> None:
        """Answers when the offsets are durable (acks -1); one error of the group or the append holds for every
        partition. Checks and appends in one step."""
        request = prepared.request
        error_code = self.store.check(request.group_id)
        group = self.store.groups.get(request.group_id)
        if not error_code:
            error_code = self._validate_commit(group, request)
        if error_code:
            respond(_all_partitions(request.topics, error_code))
            return
        if group is None:
            logger.info("Creating the simple group %s by its first offset commit", request.group_id)
            group = self.store.create(request.group_id)
        elif group.state in (states.STABLE, states.PREPARING_REBALANCE):
            member = group.members[request.member_id]
            member.session_timer.start(member.session_timeout_ms)
        self._append_commit(group, prepared, respond)

    def _validate_commit(self, group: Group | None, request: CommitRequest) -> int:
        """As Kafka: an empty group takes anybody's commits without a generation, a living one its members' alone."""
        if group is None:
            if request.generation_id < 0:
                return ErrorCode.NONE
            return ErrorCode.GROUP_ID_NOT_FOUND if request.api_version >= 9 else ErrorCode.ILLEGAL_GENERATION
        if request.generation_id < 0 and group.state == states.EMPTY:
            return ErrorCode.NONE
        if request.generation_id >= 0 or request.member_id or request.group_instance_id is not None:
            error_code = group.validate_member(request.member_id, request.group_instance_id)
            if error_code:
                return error_code
            if request.generation_id != group.generation_id:
                return ErrorCode.ILLEGAL_GENERATION
        elif group.state != states.EMPTY:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state == states.COMPLETING_REBALANCE else ErrorCode.NONE

    def _append_commit(self, group: Group, prepared: PreparedCommit, respond: CommitRespond) -> None:
        request, records, committed, errors = prepared
        if not records:
            self._forget_if_disposable(group)
            respond(errors)
            return
        if sum(map(_record_bytes, records)) > self.store.log.max_batch_bytes():
            self._forget_if_disposable(group)
            respond(_all_partitions(request.topics, response_error(ErrorCode.RECORD_LIST_TOO_LARGE)))
            return
        _count_pending(group, committed, 1)

        def done(append_error: int, base_offset: int) -> None:
            if append_error:
                _count_pending(group, committed, -1)
                self._forget_if_disposable(group)
                respond(_all_partitions(request.topics, response_error(append_error)))
                return
            for index, (topic_name, partition, value) in enumerate(committed):
                put_offset(group, topic_name, partition, CommittedOffset(*value, base_offset + index))
            _count_pending(group, committed, -1)
            respond(errors)

        self.store.log.append(group.partition, records, done)

    def _is_too_large(self, metadata: str) -> bool:
        """Kafka counts UTF-16 code units, whatever the config's name says."""
        limit = self.config.offset_metadata_max_bytes
        return len(metadata) * 2 > limit and len(metadata.encode("utf-16-le", "surrogatepass")) > 2 * limit

    def _forget_if_disposable(self, group: Group) -> None:
        if group.protocol_type is None and group.is_disposable and self.store.is_current(group):
            self.store.remove(group, ErrorCode.COORDINATOR_NOT_AVAILABLE)

    # ---- fetch

    def fetch(
        self,
        group_id: str,
        topics: Iterable[tuple[str, bytes | None, Sequence[int]]] | None,
        require_stable: bool = False,
    ) -> Steps[FetchResult]:
        """What is committed; of every topic when ``topics`` is None. A group that does not exist has nothing committed.
        ``require_stable`` refuses partitions that an open transaction is to commit.

        Each row is read from the group that has the id when its turn comes. An error of the group at the end of any step is the
        whole answer: this broker may not have the newest offsets any more."""
        error_code = self.store.check(group_id)
        if error_code:
            return FetchResult(error_code, [])
        found: list[tuple[str, list[FetchedPartition]]] = []
        number = 0
        for name, topic_id, wanted in self._wanted(group_id, topics):
            rows: list[FetchedPartition] = []
            found.append((name, rows))
            for partition in wanted:
                group = self.store.groups.get(group_id)
                offset = group.offsets.get(name, {}).get(partition) if group is not None else None
                unstable = group.transactional_offsets if group is not None and require_stable else ()
                if topics is not None:
                    # an offset of an earlier topic of the same name is not this topic's
                    is_other = (
                        offset is not None and None not in (topic_id, offset.topic_id) and topic_id != offset.topic_id
                    )
                    rows.append(_told(name, partition, None if is_other else offset, unstable))
                elif offset is not None:
                    rows.append(_told(name, partition, offset, unstable))
                number += 1
                if number % ITEMS == 0:
                    yield None
                    error_code = self.store.check(group_id)
                    if error_code:
                        return FetchResult(error_code, [])
        return FetchResult(ErrorCode.NONE, found)

    def _wanted(
        self, group_id: str, topics: Iterable[tuple[str, bytes | None, Sequence[int]]] | None
    ) -> Iterable[tuple[str, bytes | None, Sequence[int]]]:
        if topics is not None:
            return topics
        group = self.store.groups.get(group_id)
        return [] if group is None else [(topic, None, list(rows)) for topic, rows in group.offsets.items()]


# ---- the cache of one group


def has_offset(group: Group, topic: str, partition: int) -> bool:
    """Committed, being committed, or in an open transaction."""
    return (
        partition in group.offsets.get(topic, ())
        or partition in group.pending_offsets.get(topic, ())
        or (topic, partition) in group.transactional_offsets
    )


def known_offsets(group: Group, topic: str) -> list[int]:
    """Every partition of the topic that ``has_offset``, once."""
    known = dict.fromkeys(group.offsets.get(topic, ())) | dict.fromkeys(group.pending_offsets.get(topic, ()))
    if group.transactional_offsets:
        known |= {key[1]: None for key in group.transactional_offsets if key[0] == topic}
    return list(known)


def known_topics(group: Group) -> list[str]:
    """Every topic that has a ``known_offsets``, once."""
    topics = dict.fromkeys(group.offsets) | dict.fromkeys(group.pending_offsets)
    return list(topics | {key[0]: None for key in group.transactional_offsets})


def put_offset(group: Group, topic: str, partition: int, offset: CommittedOffset) -> None:
    partitions = group.offsets.get(topic)
    if partitions is None:
        partitions = group.offsets[topic] = {}
        group.shard.note_topic(topic, group.group_id)
    before = partitions.get(partition)
    if before is None or before.record_offset < offset.record_offset:
        partitions[partition] = offset


def end_transaction(group: Group, topic: str, partition: int, producer_id: int, is_committed: bool) -> None:
    """What the producer's transaction was to commit counts now, unless a later record has replaced it; or it is dropped."""
    by_producer = group.transactional_offsets.get((topic, partition), {})
    offset = by_producer.pop(producer_id, None)
    if offset is None:  # a tombstone came between
        return
    if not by_producer:
        del group.transactional_offsets[topic, partition]
    if is_committed:
        put_offset(group, topic, partition, offset)


def remove_offset(group: Group, topic: str, partition: int, record_offset: int) -> None:
    """Removes what was written before the tombstone at ``record_offset``, by open transactions too: these are from the load,
    so all of it was."""
    group.transactional_offsets.pop((topic, partition), None)
    partitions = group.offsets.get(topic)
    before = partitions.get(partition) if partitions else None
    if partitions is None or before is None or before.record_offset > record_offset:
        return
    del partitions[partition]
    if not partitions:
        del group.offsets[topic]
        if not group.has_offsets_of(topic):
            group.shard.forget_topic(topic, group.group_id)


def _count_pending(group: Group, committed: list[tuple[str, int, OffsetValue]], step: int) -> None:
    for topic, partition, _ in committed:
        counts = group.pending_offsets.get(topic)
        if counts is None:
            counts = group.pending_offsets[topic] = {}
            group.shard.note_topic(topic, group.group_id)
        count = counts.get(partition, 0) + step
        if count:
            counts[partition] = count
            continue
        del counts[partition]
        if not counts:
            del group.pending_offsets[topic]
            if not group.has_offsets_of(topic):
                group.shard.forget_topic(topic, group.group_id)


def _record_bytes(record: Record) -> int:
    return len(record[0]) + len(record[1] or b"")


def _told(
    topic: str, partition: int, offset: CommittedOffset | None, unstable: Container[tuple[str, int]]
) -> FetchedPartition:
    if (topic, partition) in unstable:
        return FetchedPartition(partition, *NOTHING_COMMITTED)._replace(error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
    if offset is None:
        return FetchedPartition(partition, *NOTHING_COMMITTED)
    return FetchedPartition(partition, offset.offset, offset.leader_epoch, offset.metadata, ErrorCode.NONE)


def _all_partitions(topics: Iterable[CommitTopic], error_code: int) -> PartitionErrors:
    return [(topic.name, [(wanted.partition, error_code) for wanted in topic.partitions]) for topic in topics]
