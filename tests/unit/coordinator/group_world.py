"""A coordinator in a world without a loop: a clock that is set by hand, a log in memory whose appends end when told."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kafkastore.coordinator.group.budget import member_bytes
from kafkastore.coordinator.group.config import GroupConfig
from kafkastore.coordinator.group.coordinator import GroupCoordinator
from kafkastore.coordinator.group.group_store import ACTIVE
from kafkastore.coordinator.group.join import JoinRequest
from kafkastore.coordinator.group.loading import LoadedGroups
from kafkastore.coordinator.group.membership import LeaveResult, LeavingMember
from kafkastore.coordinator.group.offsets import (
    CommitPartition,
    CommitRequest,
    CommitTopic,
    FetchedPartition,
    known_topics,
)
from kafkastore.coordinator.group.partitioning import partition_for
from kafkastore.coordinator.group.steps import Appended
from kafkastore.coordinator.group.sync import SyncRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from kafkastore.coordinator.group.listing import ListedGroup
    from kafkastore.coordinator.group.member import JoinResult, SyncResult
    from kafkastore.coordinator.group.offsets import FetchResult

RANGE = (("range", b"\0\0\0\0\0\1\0\1t\0\0\0\0"),)  # subscribed to topic t
TOPIC_ID = bytes(range(16))


class ManualWake:
    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        self.deadline_ms = deadline_ms
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class ManualClock:
    """Starts at a wall time of 1,000,000 s; ``advance`` runs what falls due, in order."""

    def __init__(self) -> None:
        self.elapsed_ms = 0
        self.wakes: list[ManualWake] = []

    def now_ms(self) -> int:
        return 1_000_000_000 + self.elapsed_ms

    def monotonic_ms(self) -> int:
        return self.elapsed_ms

    def call_at(self, deadline_ms: int, callback: Callable[[], None]) -> ManualWake:
        wake = ManualWake(deadline_ms, callback)
        self.wakes.append(wake)
        return wake

    def advance(self, milliseconds: int) -> None:
        end_ms = self.elapsed_ms + milliseconds
        while True:
            self.wakes = [wake for wake in self.wakes if not wake.is_cancelled]
            due = min((wake for wake in self.wakes if wake.deadline_ms <= end_ms), key=_deadline, default=None)
            if due is None:
                break
            self.wakes.remove(due)
            self.elapsed_ms = max(self.elapsed_ms, due.deadline_ms)
            due.callback()
        self.elapsed_ms = end_ms


def _deadline(wake: ManualWake) -> int:
    return wake.deadline_ms


class MemoryLog:
    """``is_held`` keeps appends unanswered until ``release``; ``fail_with`` is the error that the next ones end
    with."""

    def __init__(self, partition_count: int = 4) -> None:
        self.count = partition_count
        self.partitions: dict[int, list[tuple[bytes, bytes | None]]] = {}
        self.is_held = False
        self.max_bytes = 1 << 30
        self.fail_with = 0
        self.waiting: list[Callable[[], None]] = []
        # (partition, offset) -> (producer id, what a control record says), of records that a test wrote in transactions
        self.transactional: dict[tuple[int, int], tuple[int, str | None]] = {}

    def partition_count(self) -> int:
        return self.count

    def append(self, partition: int, records: Sequence[Any], done: Callable[[int, int], None]) -> None:
        assert records
        error_code, base_offset = self.fail_with, -1
        if not error_code:
            log = self.partitions.setdefault(partition, [])
            base_offset = len(log)
            log.extend(records)
        if self.is_held:
            self.waiting.append(lambda: done(error_code, base_offset))
        else:
            done(error_code, base_offset)

    def release(self) -> None:
        self.is_held = False
        waiting, self.waiting = self.waiting, []
        for finish in waiting:
            finish()

    def max_batch_bytes(self) -> int:
        return self.max_bytes

    async def load(self, partition: int) -> AsyncIterator[Sequence[Any]]:
        yield self.rows(partition)

    def rows(self, partition: int) -> list[tuple[int, bytes | None, bytes | None, int, str | None]]:
        log = self.partitions.get(partition, [])
        return [
            (offset, key, value, *self.transactional.get((partition, offset), (-1, None)))
            for offset, (key, value) in enumerate(log)
        ]

    def write(
        self, partition: int, key: bytes, value: bytes | None, producer_id: int = -1, control: str | None = None
    ) -> None:
        """A record of another broker, as it is on the disk."""
        log = self.partitions.setdefault(partition, [])
        self.transactional[partition, len(log)] = (producer_id, control)
        log.append((key, value))


class Call:
    """A request that waits for its answer, and proves that it comes once."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def __call__(self, *result: Any) -> None:
        assert not self.results, "answered twice"
        self.results.append(result[0] if len(result) == 1 else result)

    @property
    def is_answered(self) -> bool:
        return bool(self.results)

    @property
    def result(self) -> Any:
        assert self.results, "not answered"
        return self.results[0]


def run_at_once(steps: Any, log: MemoryLog, done: Callable[[Any], None], sent: Any = None) -> None:
    """Runs steps to their end, or to an append that is held, after which they go on with its release."""
    while True:
        try:
            asked = steps.send(sent)
        except StopIteration as finished:
            done(finished.value)
            return
        sent = None
        if asked is None:
            continue
        waiting = _Waiting(steps, log, done, len(asked))
        for number, (partition, records) in enumerate(asked):
            log.append(partition, records, partial(waiting.take, number))
        if not waiting.is_complete:
            waiting.is_left = True
            return
        sent = waiting.in_order()


class _Waiting:
    """Appends of one step."""

    def __init__(self, steps: Any, log: MemoryLog, done: Callable[[Any], None], count: int) -> None:
        self.goes_on = partial(run_at_once, steps, log, done)
        self.count = count
        self.results: dict[int, Appended] = {}
        self.is_left = False  # by the call that began them

    @property
    def is_complete(self) -> bool:
        return len(self.results) == self.count

    def in_order(self) -> list[Appended]:
        return [self.results[number] for number in range(self.count)]

    def take(self, number: int, error_code: int, base_offset: int) -> None:
        self.results[number] = Appended(error_code, base_offset)
        if self.is_left and self.is_complete:
            self.goes_on(self.in_order())


def value_of(steps: Any, log: MemoryLog) -> Any:
    """What steps return that wait for no append that is held."""
    call = Call()
    run_at_once(steps, log, call)
    return call.result


class CoordinatorWithoutLoop(GroupCoordinator):
    async def run_steps(self, steps: Any) -> Any:
        return value_of(steps, self.store.log)  # type: ignore[arg-type]


def run_to_end(coroutine: Any) -> Any:
    """A coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    raise AssertionError("it waits")


class World:
    """The coordinator of every partition, with words for what clients do."""

    def __init__(self, log: MemoryLog | None = None, **config: int) -> None:
        values = {
            "initial_rebalance_delay_ms": 0,
            "min_session_timeout_ms": 1000,
            "offsets_retention_check_interval_ms": 1 << 60,
        }
        self.clock = ManualClock()
        self.log = log or MemoryLog()
        self.coordinator = CoordinatorWithoutLoop(GroupConfig(**{**values, **config}), self.clock, self.log, run_to_end)
        self.coordinator.startup()
        for partition in range(self.log.count):
            self.load(partition)

    def load(self, partition: int) -> None:
        loader = self.coordinator.loader
        _, before = loader.begin(partition)
        value_of(loader.end(before), self.log)
        loaded = LoadedGroups(loader, partition)
        value_of(loaded.apply(self.log.rows(partition)), self.log)
        value_of(loader.finish(loaded), self.log)
        assert self.coordinator.store.partitions[partition] == ACTIVE

    def restarted(self, **config: int) -> World:
        """Another broker that reads the same log."""
        return World(self.log, **config)

    def group(self, group_id: str = "g") -> Any:
        return self.coordinator.store.groups[group_id]

    def state(self, group_id: str = "g") -> str:
        return self.coordinator.describe_group(group_id).state

    def partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self.log.count)

    # ---- requests

    def join(self, member_id: str = "", version: int = 9, **fields: Any) -> Call:
        values: dict[str, Any] = {
            "group_id": "g",
            "member_id": member_id,
            "group_instance_id": None,
            "client_id": "client",
            "client_host": "/127.0.0.1",
            "protocol_type": "consumer",
            "protocols": RANGE,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 30_000,
            "requires_known_member_id": version >= 4,
            "supports_skipping_assignment": version >= 9,
        }
        call = Call()
        self.coordinator.joiner.join(JoinRequest(**{**values, **fields}), call)
        return call

    def new_member(self, **fields: Any) -> Call:
        """Both rounds of KIP-394."""
        handed = self.join(**fields).result
        assert handed.error_code == 79, handed
        return self.join(handed.member_id, **fields)

    def sync(self, joined: JoinResult, assignments: dict[str, bytes] | None = None, **fields: Any) -> Call:
        values: dict[str, Any] = {
            "group_id": "g",
            "member_id": joined.member_id,
            "group_instance_id": None,
            "generation_id": joined.generation_id,
            "protocol_type": joined.protocol_type,
            "protocol_name": joined.protocol_name,
            "assignments": tuple((assignments or {}).items()),
        }
        call = Call()
        self.coordinator.syncer.sync(SyncRequest(**{**values, **fields}), call)
        return call

    def heartbeat(self, joined: JoinResult, group_id: str = "g", instance_id: str | None = None) -> int:
        return self.coordinator.heartbeat(group_id, joined.member_id, instance_id, joined.generation_id)

    def leave(self, *member_ids: str, group_id: str = "g") -> LeaveResult:
        return self.coordinator.leave_group(group_id, [LeavingMember(member_id) for member_id in member_ids])

    def commit(
        self, offsets: dict[tuple[str, int], int], joined: JoinResult | None = None, version: int = 9, **fields: Any
    ) -> Call:
        topics: dict[str, list[CommitPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(CommitPartition(partition, offset, -1, fields.get("metadata", "")))
        fields.pop("metadata", None)
        values: dict[str, Any] = {
            "group_id": "g",
            "member_id": joined.member_id if joined else "",
            "group_instance_id": None,
            "generation_id": joined.generation_id if joined else -1,
            "api_version": version,
            "topics": tuple(CommitTopic(name, TOPIC_ID, tuple(rows)) for name, rows in topics.items()),
        }
        call = Call()
        prepared = value_of(self.coordinator.offsets.prepare_commit(CommitRequest(**{**values, **fields})), self.log)
        self.coordinator.offsets.commit(prepared, call)
        return call

    def fetch(self, group_id: str, topics: Any, require_stable: bool = False) -> FetchResult:
        result: FetchResult = run_to_end(self.coordinator.fetch_offsets(group_id, topics, require_stable))
        return result

    def fetched(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        result = self.fetch(group_id, None)
        assert result.error_code == 0
        rows: list[tuple[str, list[FetchedPartition]]] = result.topics
        return {(topic, row.partition): row.offset for topic, partitions in rows for row in partitions}

    def delete_offsets(self, topics: list[tuple[str, list[int]]], group_id: str = "g") -> Call:
        call = Call()
        run_at_once(self.coordinator.remover.delete_offsets(group_id, topics), self.log, call)
        return call

    def delete_groups(self, *group_ids: str) -> Call:
        call = Call()
        run_at_once(self.coordinator.remover.delete_groups(group_ids), self.log, call)
        return call

    def expire(self) -> int:
        """How many tombstones one pass asked for."""
        asked: int = value_of(self.coordinator.remover.expire(), self.log)
        return asked

    def list_groups(self, states: Sequence[str] = (), types: Sequence[str] = ()) -> tuple[int, list[ListedGroup]]:
        found: tuple[int, list[ListedGroup]] = run_to_end(self.coordinator.list_groups(states, types))
        return found

    # ---- whole scenes

    def stable_group(self, members: int = 1, **fields: Any) -> list[JoinResult]:
        """A group in Stable; the leader first; each assigned its own member id as bytes."""
        calls = [self.new_member(**fields) for _ in range(members)]
        self.settle(calls)
        results: list[JoinResult] = [call.result for call in calls]
        if any(result.generation_id != results[-1].generation_id or result.error_code for result in results):
            # the first stabilized before the others came: everyone joins once more
            calls = [self.join(result.member_id, **fields) for result in results]
            self.settle(calls)
            results = [call.result for call in calls]
        results.sort(key=lambda result: result.leader != result.member_id)
        group_id = fields.get("group_id", "g")
        assignments = {result.member_id: result.member_id.encode() for result in results}
        syncs = [self.sync(result, assignments, group_id=group_id) for result in results]
        for result, sync in zip(results, syncs, strict=True):
            answer: SyncResult = sync.result
            assert answer.error_code == 0
            assert answer.assignment == result.member_id.encode()
        return results

    def settle(self, calls: list[Call]) -> None:
        self.clock.advance(0)
        for _ in range(60):
            if all(call.is_answered for call in calls):
                return
            self.clock.advance(1000)


def indexes_are_right(world: World) -> None:
    """What is kept beside groups, offsets and members is what counting them anew gives."""
    store = world.coordinator.store
    assert {group_id for shard in store.shards.values() for group_id in shard.groups} == set(store.groups)
    unstored = 0
    for shard in store.shards.values():
        for state, groups in shard.by_state.items():
            assert groups == {group.group_id: group for group in shard.groups.values() if group.state == state}
        for group in shard.groups.values():
            for topic in known_topics(group):
                assert group.group_id in shard.by_topic[topic]
            held = sum(member.held_bytes for member in group.members.values())
            assert group.holds.held_bytes == held + sum(member_bytes((each,), ()) for each in group.pending_members)
            unstored += group.holds.unstored_bytes
        named = {(topic, group_id) for topic, ids in shard.by_topic.items() for group_id in ids}
        known = {(topic, group.group_id) for group in shard.groups.values() for topic in known_topics(group)}
        assert named == known
    assert store.budget.unstored_bytes == unstored
