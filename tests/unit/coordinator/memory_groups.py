"""The data plane's half of the coordinator in memory: a log whose appends a test can hold, leases, sessions, committed
offsets.

:class:`MemoryLog` is the durable part; two brokers may read it, one after the other. :class:`MemoryGroups` is one
broker's ``OffsetsLog`` over it, with the rules of ``rust/coordinator``: leases and offsets are kept by group in the
shard of a partition, so that a lease acts on the group that has its name now; a shard that was closed, or loaded anew,
does not change the shard that follows it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.offsets_log import (
    OffsetDeletion,
    OffsetExpiration,
    Removal,
    TombstoneBatch,
    TopicOffsetDeletion,
)
from kafkastore.coordinator.group_coordinator import GroupCoordinator
from kafkastore.coordinator.runtime.append_errors import response_error
from kafkastore.coordinator.runtime.internal_log import AppendDone
from kafkastore.coordinator.runtime.partitioning import partition_for
from kafkastore.errors import ErrorCode
from kafkastore.purgatory.timer import Clock, Timer, Timers

NO_EXPIRY = -1
EMPTY, PREPARING_REBALANCE = states.STATES.index(states.EMPTY), states.STATES.index(states.PREPARING_REBALANCE)
COMPLETING_REBALANCE = states.STATES.index(states.COMPLETING_REBALANCE)


class OffsetRow(NamedTuple):
    """The key of an offset's record; the keys of groups' records are bytes."""

    group_id: str
    topic: str
    partition: int


class ExpiredSession(NamedTuple):
    partition: int
    number: int
    group_id: str
    member_id: str


class Committed(NamedTuple):
    offset: int
    commit_ms: int
    expire_ms: int
    topic_id: bytes


class MemoryLog:
    """The log. ``is_held`` keeps appends unanswered until ``release``; ``fail_with`` is the error code of the next
    appends. The keys of a batch of tombstones have at most ``tombstone_bytes``."""

    def __init__(self, partition_count: int = 4) -> None:
        self.count = partition_count
        self.is_known = True
        self.partitions: dict[int, list[tuple[Any, Any]]] = {}
        self.is_held = False
        self.max_bytes = 1 << 30
        self.tombstone_bytes = 128 << 10
        self.fail_with = 0
        self.waiting: deque[Callable[[], None]] = deque()
        self.unreadable: dict[int, tuple[int, str]] = {}  # partition -> records that the data plane skips, and why
        self.unstable: dict[int, list[str]] = {}  # partition -> groups with open transactions

    def append(self, partition: int, records: Sequence[Any], done: AppendDone) -> None:
        assert records
        size = sum(len(key) for key, _ in records if isinstance(key, bytes))
        error_code, base_offset = self.fail_with or (size > self.max_bytes and ErrorCode.RECORD_LIST_TOO_LARGE), -1
        if not error_code:
            log = self.partitions.setdefault(partition, [])
            base_offset = len(log)
            log.extend(records)
        if self.is_held or self.waiting:
            self.waiting.append(partial(done, error_code, base_offset))
        else:
            done(error_code, base_offset)

    def release(self) -> None:
        self.is_held = False
        while self.waiting:
            self.waiting[0]()
            self.waiting.popleft()

    def write(self, partition: int, key: Any, value: Any) -> None:
        """Writes a record as another broker."""
        self.partitions.setdefault(partition, []).append((key, value))

    def tombstones(self) -> int:
        return sum(value is None for rows in self.partitions.values() for _, value in rows)


class Member:
    def __init__(self, timer: Timer) -> None:
        self.timer = timer
        self.timeout_ms: int | None = None  # None until the session begins

    def is_heard_of(self) -> None:
        if self.timeout_ms is not None:
            self.timer.start(self.timeout_ms)


class LeaseState:
    """The state of a group's lease, as in ``lease.rs``."""

    def __init__(self) -> None:
        self.state, self.generation_id = EMPTY, 0
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}

    def validate_member(self, member_id: str, instance_id: str | None) -> int:
        if instance_id is not None and self.static_members.get(instance_id) != member_id:
            is_known = instance_id in self.static_members
            return ErrorCode.FENCED_INSTANCE_ID if is_known else ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def check(self, member_id: str, instance_id: str | None, generation_id: int) -> int:
        error_code = self.validate_member(member_id, instance_id)
        if not error_code and generation_id != self.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        return error_code


class Shard:
    """The groups of one partition, as in ``shard.rs``."""

    def __init__(self, groups: MemoryGroups, partition: int) -> None:
        self.groups = groups
        self.partition = partition
        self.is_open = True
        self.is_active = False
        self.leases: dict[str, LeaseState] = {}
        self.offsets: dict[str, dict[tuple[str, int], Committed]] = {}
        self.pending: list[tuple[str, dict[tuple[str, int], Committed]]] = []  # commits, in the order of the log
        self.reported: set[str] = set()  # groups without a lease that were reported to the control plane

    def close(self) -> None:
        self.is_open = self.is_active = False
        for lease in self.leases.values():
            for member in lease.members.values():
                member.timer.cancel()

    def changing(self, group_id: str) -> Iterator[tuple[tuple[str, int], Committed]]:
        for committing, rows in self.pending:
            if committing == group_id:
                yield from rows.items()

    def has_offsets(self, group_id: str) -> bool:
        return bool(self.offsets.get(group_id)) or any(committing == group_id for committing, _ in self.pending)

    def report(self, group_id: str) -> None:
        if not self.offsets.get(group_id):
            self.reported.discard(group_id)
        elif group_id not in self.leases and group_id not in self.reported:
            self.reported.add(group_id)
            if self.is_open:
                self.groups.coordinator.on_groups_created(self.partition, [group_id])

    def remove(self, rows: Sequence[OffsetRow]) -> None:
        for group_id, topic, partition in rows:
            offsets = self.offsets.get(group_id, {})
            offsets.pop((topic, partition), None)
            if not offsets:
                self.offsets.pop(group_id, None)


class MemoryLease:
    """A :class:`kafkastore.coordinator.group.offsets_log.GroupLease`."""

    def __init__(self, shard: Shard, group_id: str) -> None:
        self.shard = shard
        self.group_id = group_id

    @property
    def now(self) -> LeaseState | None:
        return self.shard.leases.get(self.group_id)

    def set_state(self, state: int, generation_id: int) -> None:
        assert 0 <= state < states.STATES.index(states.DEAD)
        if self.now is not None:
            self.now.state, self.now.generation_id = state, generation_id

    def add_member(self, member_id: str, group_instance_id: str | None) -> None:
        if self.now is None:
            return
        if group_instance_id is not None:
            self.now.static_members[group_instance_id] = member_id
        groups = self.shard.groups
        self.now.members[member_id] = Member(
            groups.timers.timer(partial(groups.end_session, self.shard, self.group_id, member_id))
        )

    def remove_member(self, member_id: str, group_instance_id: str | None) -> None:
        if self.now is None:
            return
        member = self.now.members.pop(member_id, None)
        if member is not None:
            member.timer.cancel()
        if group_instance_id is not None and self.now.static_members.get(group_instance_id) == member_id:
            del self.now.static_members[group_instance_id]

    def replace_member(self, old_member_id: str, new_member_id: str, group_instance_id: str) -> None:
        self.remove_member(old_member_id, group_instance_id)
        self.add_member(new_member_id, group_instance_id)

    def _member(self, member_id: str) -> Member | None:
        return None if self.now is None else self.now.members.get(member_id)

    def start_session(self, member_id: str, timeout_ms: int) -> None:
        member = self._member(member_id)
        if member is not None and self.shard.is_open:
            member.timeout_ms = timeout_ms
            member.is_heard_of()

    def cancel_session(self, member_id: str) -> None:
        member = self._member(member_id)
        if member is not None:
            member.timer.cancel()

    def has_session(self, member_id: str) -> bool:
        member = self._member(member_id)
        return member is not None and member.timer.is_running

    def has_offsets(self) -> bool:
        return self.shard.has_offsets(self.group_id)

    def offset_topics(self) -> list[str]:
        return list(dict.fromkeys(topic for topic, _ in self.shard.offsets.get(self.group_id, ())))

    def release(self) -> None:
        lease = self.shard.leases.pop(self.group_id, None)
        for member in () if lease is None else lease.members.values():
            member.timer.cancel()
        self.shard.reported.discard(self.group_id)
        self.shard.report(self.group_id)


class Loaded(NamedTuple):
    records: list[tuple[str, bytes]]
    simple_groups: list[str]
    unstable_groups: list[str]
    skipped: int
    skip_reason: str


class MemoryGroups:
    """A :class:`kafkastore.coordinator.group.offsets_log.OffsetsLog`, which also serves members' requests."""

    coordinator: GroupCoordinator

    def __init__(self, log: MemoryLog, clock: Clock) -> None:
        self.log = log
        self.clock = clock
        self.timers = Timers(clock)
        self.shards: dict[int, Shard] = {}
        self.topic_ids: dict[str, bytes] = {}  # of topics that exist
        self.is_stopped = False

    # ---- the control plane's calls

    def partition_count(self) -> int:
        return self.log.count

    def is_known(self) -> bool:
        return self.log.is_known

    def max_batch_bytes(self) -> int:
        return self.log.max_bytes

    def append(self, partition: int, records: Sequence[Any], done: AppendDone) -> None:
        self.log.append(partition, records, done)

    def begin(self, partition: int) -> int:
        self.close(partition)
        shard = self.shards[partition] = Shard(self, partition)
        return id(shard)

    async def load(self, partition: int, number: int) -> Loaded | None:
        shard = self.shards.get(partition)
        if shard is None or id(shard) != number:
            return None
        found: dict[str, bytes] = {}
        for key, value in self.log.partitions.get(partition, ()):
            if isinstance(key, OffsetRow):
                shard.remove([key])
                if value is not None:
                    shard.offsets.setdefault(key.group_id, {})[key.topic, key.partition] = value
            elif key.startswith(b"\0\2"):
                found.pop(key[4:].decode(), None)
                if value is not None:
                    found[key[4:].decode()] = value
        shard.reported.update(shard.offsets)
        skipped, reason = self.log.unreadable.get(partition, (0, ""))
        simple = [group_id for group_id in shard.offsets if group_id not in found]
        return Loaded(list(found.items()), simple, self.log.unstable.get(partition, []), skipped, reason)

    def lease(self, partition: int, number: int, group_id: str) -> MemoryLease:
        shard = self.shards.get(partition)
        if shard is None or id(shard) != number:
            shard = Shard(self, partition)  # a stale load: a shard of its own
        shard.leases[group_id] = LeaseState()
        return MemoryLease(shard, group_id)

    def activate(self, partition: int, number: int) -> None:
        if id(self.shards.get(partition)) == number:
            self.shards[partition].is_active = True

    def close(self, partition: int) -> None:
        shard = self.shards.pop(partition, None)
        if shard is not None:
            shard.close()

    def stop(self) -> None:
        self.is_stopped = True

    def remove(self, partition: int, removal: Removal) -> TombstoneBatch:
        shard = self.shards.get(partition)
        if shard is None or not shard.is_active:
            loading = ErrorCode.NOT_COORDINATOR if shard is None else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            return TombstoneBatch(None, is_kept=True, error_code=loading)
        found, is_kept = self._find(shard, removal)
        rows = self._batch(found)
        if not rows:
            return TombstoneBatch(None, is_kept)
        if self.log.fail_with and not self.log.is_held:
            return TombstoneBatch(None, is_kept=True, error_code=response_error(self.log.fail_with))
        end = _End()

        def ended(error_code: int, base_offset: int) -> None:
            if not error_code:
                shard.remove(rows)
            end.come(error_code, base_offset)

        self.log.append(partition, [(row, None) for row in rows], ended)
        return TombstoneBatch(end.ask, is_kept, has_more=len(rows) < len(found))

    def _find(self, shard: Shard, removal: Removal) -> tuple[list[OffsetRow], bool]:
        rows: list[OffsetRow] = []
        is_kept = False
        if isinstance(removal, OffsetDeletion):
            keys = dict.fromkeys(shard.offsets.get(removal.group_id, ()))
            keys |= dict.fromkeys(key for key, _ in shard.changing(removal.group_id))
            if removal.topics is not None:
                asked = {(topic, partition) for topic, partitions in removal.topics for partition in partitions}
                keys = {key: None for key in keys if key in asked}
            rows = [OffsetRow(removal.group_id, *key) for key in keys]
        elif isinstance(removal, TopicOffsetDeletion):
            known = [(group_id, *row) for group_id, offsets in shard.offsets.items() for row in offsets.items()]
            known += [(group_id, *row) for group_id, offsets in shard.pending for row in offsets.items()]
            now = self.topic_ids.get(removal.topic)
            rows = [
                OffsetRow(group_id, *key)
                for group_id, key, row in known
                if key[0] == removal.topic and row.topic_id != now
            ]
        else:
            changing = dict(shard.changing(removal.group_id))
            is_kept = bool(changing)
            for key, row in shard.offsets.get(removal.group_id, {}).items():
                if key[0] in removal.subscribed or key in changing or not _is_expired(row, removal):
                    is_kept = True
                else:
                    rows.append(OffsetRow(removal.group_id, *key))
        return rows, is_kept

    def _batch(self, rows: list[OffsetRow]) -> list[OffsetRow]:
        size = 0
        for number, row in enumerate(rows):
            if size >= self.log.tombstone_bytes:
                return rows[:number]
            size += len(row.group_id) + len(row.topic) + 16
        return rows

    # ---- requests of members

    def end_session(self, shard: Shard, group_id: str, member_id: str) -> None:
        if shard.is_open:
            self.coordinator.on_sessions_expired([ExpiredSession(shard.partition, id(shard), group_id, member_id)])

    def home(self, group_id: str) -> Shard | int:
        """The shard of the group, or the error code that answers its requests."""
        if self.is_stopped:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        shard = self.shards.get(partition_for(group_id, self.log.count))
        if shard is None:
            return ErrorCode.NOT_COORDINATOR
        return shard if shard.is_active else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def heartbeat(self, group_id: str, member_id: str, instance_id: str | None, generation_id: int) -> int:
        shard = self.home(group_id)
        if not group_id and shard != ErrorCode.COORDINATOR_NOT_AVAILABLE:
            return ErrorCode.INVALID_GROUP_ID
        if not isinstance(shard, Shard):
            return ErrorCode.NONE if shard == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else shard
        lease = shard.leases.get(group_id)
        if lease is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        error_code = lease.check(member_id, instance_id, generation_id)
        if error_code:
            return error_code
        lease.members[member_id].is_heard_of()
        is_preparing = lease.state == PREPARING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_preparing else ErrorCode.NONE

    def commit(
        self,
        group_id: str,
        claim: tuple[str, str | None, int],
        rows: dict[tuple[str, int], Committed],
        done: Callable[[int], None],
    ) -> None:
        """Commits the rows; ``done`` is called with the error code, after success when the rows are durable."""
        shard = self.home(group_id)
        error_code = shard if not isinstance(shard, Shard) else self._check_commit(shard, group_id, claim)
        if error_code or not isinstance(shard, Shard):
            done(error_code)
            return
        pending = (group_id, rows)
        shard.pending.append(pending)

        def ended(append_error: int, _: int) -> None:
            shard.pending = [each for each in shard.pending if each is not pending]
            if not append_error:
                shard.offsets.setdefault(group_id, {}).update(rows)
                shard.report(group_id)
            done(response_error(append_error))

        self.log.append(shard.partition, [(OffsetRow(group_id, *key), row) for key, row in rows.items()], ended)

    def _check_commit(self, shard: Shard, group_id: str, claim: tuple[str, str | None, int]) -> int:
        member_id, instance_id, generation_id = claim
        lease = shard.leases.get(group_id) or LeaseState()
        if generation_id < 0 and lease.state == EMPTY:
            return ErrorCode.NONE
        error_code = lease.check(member_id, instance_id, generation_id)
        if error_code:
            return error_code
        lease.members[member_id].is_heard_of()
        is_completing = lease.state == COMPLETING_REBALANCE
        return ErrorCode.REBALANCE_IN_PROGRESS if is_completing else ErrorCode.NONE

    def fetched(self, group_id: str) -> dict[tuple[str, int], int]:
        shard = self.home(group_id)
        assert isinstance(shard, Shard), shard
        return {key: row.offset for key, row in shard.offsets.get(group_id, {}).items()}


class _End:
    """The end of one append. The step that began the append must ask for the result, or never gets it."""

    unasked: ClassVar[list[_End]] = []

    def __init__(self) -> None:
        self.result: tuple[int, int] | None = None
        self.asked: AppendDone | None = None
        self.unasked.append(self)

    def come(self, error_code: int, base_offset: int) -> None:
        self.result = (error_code, base_offset)
        if self.asked is not None:
            self.asked(error_code, base_offset)

    def ask(self, done: AppendDone) -> None:
        self.asked = done
        self.unasked.remove(self)
        if self.result is not None:
            done(*self.result)


def assert_every_end_is_asked_for() -> None:
    """Asserts at the end of a step that all ends of its appends were asked for."""
    unasked, _End.unasked[:] = list(_End.unasked), []
    assert not unasked, "somebody waits for ever"


def _is_expired(row: Committed, removal: OffsetExpiration) -> bool:
    if row.expire_ms != NO_EXPIRY:
        return removal.now_ms >= row.expire_ms
    since_ms = row.commit_ms if removal.since_ms is None else removal.since_ms
    return removal.now_ms - since_ms >= removal.retention_ms
