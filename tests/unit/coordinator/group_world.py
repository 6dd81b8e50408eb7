"""A coordinator without an event loop: with a clock that is set by hand, and the data plane in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.budget import member_bytes
from kafkastore.coordinator.group.classic.join import JoinRequest
from kafkastore.coordinator.group.classic.listing import ListedGroup
from kafkastore.coordinator.group.classic.member import JoinResult, SyncResult
from kafkastore.coordinator.group.classic.membership import LeaveResult, LeavingMember
from kafkastore.coordinator.group.classic.sync import SyncRequest
from kafkastore.coordinator.group.config import GroupConfig
from kafkastore.coordinator.group_coordinator import GroupCoordinator
from kafkastore.coordinator.runtime.partitioning import partition_for
from kafkastore.coordinator.runtime.steps import BatchAppendResult
from unit.coordinator.memory_groups import NO_EXPIRY, Committed, MemoryGroups, MemoryLog, assert_every_end_is_asked_for

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
    """Starts at a wall time of 1,000,000 s; ``advance`` runs the timers that fall due, in order."""

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


class Call:
    """A request that waits for its answer, and asserts that it is answered once."""

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


def run_at_once(steps: Any, done: Callable[[Any], None], sent: Any = None) -> None:
    """Runs steps to their end, or to an append that is held; its release runs the rest."""
    while True:
        try:
            asked = steps.send(sent)
        except StopIteration as finished:
            assert_every_end_is_asked_for()
            done(finished.value)
            return
        sent = None
        if asked is None:
            assert_every_end_is_asked_for()
            continue
        waiting = _Waiting(steps, done, len(asked))
        for number, begin in enumerate(asked):
            begin(partial(waiting.take, number))
        assert_every_end_is_asked_for()
        if not waiting.is_complete:
            waiting.is_left = True
            return
        sent = waiting.in_order()


class _Waiting:
    """The appends of one step, until all have ended."""

    def __init__(self, steps: Any, done: Callable[[Any], None], count: int) -> None:
        self.goes_on = partial(run_at_once, steps, done)
        self.count = count
        self.results: dict[int, BatchAppendResult] = {}
        self.is_left = False  # whether the call that began them has returned

    @property
    def is_complete(self) -> bool:
        return len(self.results) == self.count

    def in_order(self) -> list[BatchAppendResult]:
        return [self.results[number] for number in range(self.count)]

    def take(self, number: int, error_code: int, base_offset: int) -> None:
        self.results[number] = BatchAppendResult(error_code, base_offset)
        if self.is_left and self.is_complete:
            self.goes_on(self.in_order())


def value_of(steps: Any) -> Any:
    """The result of steps that wait for no held append."""
    call = Call()
    run_at_once(steps, call)
    return call.result


class CoordinatorWithoutLoop(GroupCoordinator):
    async def run_steps(self, steps: Any) -> Any:
        return value_of(steps)


def run_to_end(coroutine: Any) -> Any:
    """The result of a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    raise AssertionError("it waits")


class World:
    """The coordinator of every partition, with a method for each request of clients."""

    def __init__(self, log: MemoryLog | None = None, **config: int) -> None:
        values = {
            "initial_rebalance_delay_ms": 0,
            "min_session_timeout_ms": 1000,
            "offsets_retention_check_interval_ms": 1 << 60,
        }
        self.clock = ManualClock()
        self.log = log or MemoryLog()
        self.groups = MemoryGroups(self.log, self.clock)
        config_of = GroupConfig(**{**values, **config})
        self.coordinator = CoordinatorWithoutLoop(config_of, self.clock, self.groups, run_to_end)
        self.groups.coordinator = self.coordinator
        self.coordinator.startup()
        for partition in range(self.log.count):
            self.load(partition)

    def load(self, partition: int) -> None:
        self.coordinator.on_election(partition)
        assert self.coordinator.partitions.is_active(partition)

    def restarted(self, **config: int) -> World:
        """The world of another broker that reads the same log."""
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
        """Joins as a new member, with both rounds of KIP-394."""
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
        return self.groups.heartbeat(group_id, joined.member_id, instance_id, joined.generation_id)

    def leave(self, *member_ids: str, group_id: str = "g") -> LeaveResult:
        return self.coordinator.leave_group(group_id, [LeavingMember(member_id) for member_id in member_ids])

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        joined: JoinResult | None = None,
        *,
        group_id: str = "g",
        instance_id: str | None = None,
        retention_ms: int | None = None,
        topic_id: bytes = TOPIC_ID,
    ) -> Call:
        """Commits offsets; the call is answered with an error code."""
        now_ms = self.clock.now_ms()
        expire_ms = NO_EXPIRY if retention_ms is None else now_ms + retention_ms
        rows = {key: Committed(offset, now_ms, expire_ms, topic_id) for key, offset in offsets.items()}
        claim = (joined.member_id, instance_id, joined.generation_id) if joined else ("", instance_id, -1)
        call = Call()
        self.groups.commit(group_id, claim, rows, call)
        return call

    def fetched(self, group_id: str = "g") -> dict[tuple[str, int], int]:
        return self.groups.fetched(group_id)

    def delete_offsets(self, topics: list[tuple[str, list[int]]], group_id: str = "g") -> Call:
        call = Call()
        run_at_once(self.coordinator.remover.delete_offsets(group_id, topics), call)
        return call

    def delete_groups(self, *group_ids: str) -> Call:
        call = Call()
        run_at_once(self.coordinator.remover.delete_groups(group_ids), call)
        return call

    def expire(self) -> int:
        """Runs one pass of expiry; returns how many tombstones it wrote."""
        before = self.log.tombstones()
        value_of(self.coordinator.remover.expire())
        return self.log.tombstones() - before

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
            # the first member's group was stable before the others came: all join once more
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
    """Asserts that the indexes and sums of groups and members equal a fresh count, and that the leases agree."""
    store = world.coordinator.store
    assert {group_id for shard in store.shards.values() for group_id in shard.groups} == set(store.groups)
    unstored = 0
    for shard in store.shards.values():
        for state, groups in shard.by_state.items():
            assert groups == {group.group_id: group for group in shard.groups.values() if group.state == state}
        for group in shard.groups.values():
            held = sum(member.held_bytes for member in group.members.values())
            assert group.holds.held_bytes == held + sum(member_bytes((each,), ()) for each in group.pending_members)
            unstored += group.holds.unstored_bytes
    assert world.coordinator.budget.unstored_bytes == unstored
    leases_are_right(world)


def leases_are_right(world: World) -> None:
    store = world.coordinator.store
    for partition, shard in store.shards.items():
        served = world.groups.shards[partition]
        assert served.is_active
        assert set(served.leases) == set(shard.groups)
        assert set(served.offsets) <= set(shard.groups)  # each name with offsets is a group
        for group_id, lease in served.leases.items():
            group = shard.groups[group_id]
            assert (states.STATES[lease.state], lease.generation_id) == (group.state, group.generation_id)
            assert set(lease.members) == set(group.members)
            assert lease.static_members == group.static_members
