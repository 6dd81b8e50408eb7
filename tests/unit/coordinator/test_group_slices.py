"""Long work on groups runs in steps, with a cost in proportion to its size, and checks its assumptions again after each
step."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kafkastore.coordinator.group.classic import states
from kafkastore.coordinator.group.classic.records import GroupValue, MemberValue, group_key, group_value
from kafkastore.coordinator.runtime.running import ANSWERS_A_PASS, AnswerQueue
from kafkastore.coordinator.runtime.steps import BatchAppendResult
from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import RANGE, World, indexes_are_right, leases_are_right, run_at_once, run_to_end
from unit.coordinator.memory_groups import assert_every_end_is_asked_for
from unit.opcodes import opcodes_of

T0, U0 = ("t", 0), ("u", 0)
STEP_LIMIT_S = 0.025  # CPU time: half of the longest time that the loop may be held
DAY_MS = 24 * 3600 * 1000


class Stepped:
    """Steps that a test runs one by one; appends end at once. ``longest_s`` is the CPU time of the longest step."""

    def __init__(self, world: World, steps: Any) -> None:
        self.world, self.steps = world, steps
        self.count, self.longest_s = 0, 0.0
        self.result: Any = None
        self._sent: Any = None

    def next(self) -> bool:
        """Runs one step; returns False after the last."""
        began = time.thread_time()
        try:
            asked = self.steps.send(self._sent)
        except StopIteration as finished:
            self.result = finished.value
            return False
        finally:
            self.longest_s = max(self.longest_s, time.thread_time() - began)
            self.count += 1
        self._sent = None
        if asked is not None:
            self._sent = []
            for begin in asked:
                begin(lambda *result: self._sent.append(BatchAppendResult(*result)))
        assert_every_end_is_asked_for()
        return True

    def to_end(self) -> Stepped:
        gc.disable()  # a collection looks at every object of the test run
        try:
            while self.next():
                pass
        finally:
            gc.enable()
        return self


def commit_many(world: World, group_id: str, topics: int, partitions: int) -> None:
    rows = {(f"topic-{topic}", index): index for topic in range(topics) for index in range(partitions)}
    assert world.commit(rows, group_id=group_id).result == ErrorCode.NONE


def world_of(groups: int, offsets: int) -> World:
    world = World()
    for number in range(groups):
        commit_many(world, f"group-{number}", 1, offsets)
    return world


def steps_of(world: World, steps: Any) -> int:
    return Stepped(world, steps).to_end().count


# ---- cost


def test_listing_costs_the_groups_that_are_listed_and_no_offset() -> None:
    few, many = world_of(200, 1), world_of(200, 50)

    def listing(world: World, *wanted: str) -> int:
        return steps_of(world, list_steps(world, wanted))

    assert listing(few) == listing(many) >= 200 / 32
    many.stable_group(group_id="stable")
    found = Stepped(many, list_steps(many, ("Stable",))).to_end()
    assert [row.group_id for row in found.result] == ["stable"]
    assert found.count <= len(many.coordinator.store.shards)


def list_steps(world: World, wanted: tuple[str, ...]) -> Any:
    from kafkastore.coordinator.group.classic.listing import list_groups

    return list_groups(world.coordinator.store, wanted, ())


def test_walks_over_many_groups_are_in_short_steps() -> None:
    world = world_of(2000, 2)
    remover = world.coordinator.remover
    names = [f"group-{number}" for number in range(1000)]
    for steps in (
        Stepped(world, remover.expire()).to_end(),
        Stepped(world, remover.delete_groups([*names, *(f"none-{name}" for name in names)])).to_end(),
    ):
        assert steps.longest_s < STEP_LIMIT_S
        assert steps.count > 60
    assert len(world.coordinator.store.groups) == 1000
    world.clock.advance(8 * DAY_MS)
    assert Stepped(world, remover.expire()).to_end().longest_s < STEP_LIMIT_S
    assert not world.coordinator.store.groups
    indexes_are_right(world)


def test_a_record_of_ten_thousand_members_is_loaded_in_short_steps() -> None:
    world = World()
    member = MemberValue("", None, "client", "/127.0.0.1", 30_000, 10_000, RANGE[0][1], b"part")
    rows = tuple(member._replace(member_id=f"member-{number}") for number in range(10_000))
    partition = world.partition_of("g")
    world.log.write(partition, group_key("g"), group_value(GroupValue("consumer", 3, "range", "member-0", 99, rows)))
    steps = loading(world, partition)
    gc.disable()
    try:
        while "g" not in world.coordinator.store.groups:
            assert world.groups.heartbeat("g", "member-0", None, 3) == ErrorCode.NONE  # while it loads
            assert steps.next()
        assert len(world.group().members) == 10_000
        assert steps.count > 300
        assert world.groups.heartbeat("g", "member-9999", None, 3) == ErrorCode.NONE
    finally:
        gc.enable()
    assert steps.to_end().count > 600
    assert steps.longest_s < STEP_LIMIT_S
    assert all(world.group().lease.has_session(each) for each in world.group().members)
    assert world.coordinator.budget.unstored_bytes == 0
    leases_are_right(world)


def test_a_thousand_members_join_and_sync_in_linear_time() -> None:
    def opcodes(members: int) -> int:
        world = World()
        return opcodes_of(lambda: world.stable_group(members))

    opcodes(5)  # imports, and fills caches at the first use
    assert opcodes(1600) < 9 * opcodes(200)  # eight times the members; quadratic would be 64 times


def joined_again(world: World, members: list[Any]) -> None:
    calls = [world.join(member.member_id, protocols=(("range", b"new"),)) for member in members]
    assert {call.result.generation_id for call in calls} == {members[0].generation_id + 1}
    for call in calls:
        assert world.sync(call.result, {members[0].member_id: b"part"}).result.error_code == ErrorCode.NONE


def left_one_by_one(world: World, members: list[Any]) -> None:
    for member in members:
        world.leave(member.member_id)
    assert not world.group().members


def lost_one_by_one(world: World, members: list[Any]) -> None:
    for member in members:
        world.group().lease.cancel_session(member.member_id)
        world.coordinator.rebalancer.end_session(world.group(), member.member_id)
    assert not world.group().members


@pytest.mark.parametrize("each", [joined_again, left_one_by_one, lost_one_by_one])
def test_a_rebalance_of_a_thousand_members_costs_the_same_for_each(each: Any) -> None:
    """Joins, syncs, leaves and rebalances without a quadratic step."""

    def opcodes(members: int) -> int:
        world = World()
        results = world.stable_group(members)
        return opcodes_of(lambda: each(world, results))

    opcodes(5)  # imports, and fills caches at the first use
    assert opcodes(800) < 1.2 * 8 * opcodes(100)


def test_a_thousand_static_members_that_restart_at_once_cost_the_same_for_each() -> None:
    """The group's record has all members: it is not written again for each member that rejoins."""

    def restarted(world: World, names: list[str]) -> None:
        world.log.is_held = True  # as in a broker: no append ends before the loop has gone on
        before = len(world.log.partitions[world.partition_of("g")])
        calls = [world.join(group_instance_id=name) for name in names]
        world.log.release()
        assert {(call.result.error_code, call.result.generation_id) for call in calls} == {(ErrorCode.NONE, 1)}
        assert len(world.log.partitions[world.partition_of("g")]) == before + 2

    def opcodes(members: int) -> int:
        world, names = World(initial_rebalance_delay_ms=1000), [f"instance-{number}" for number in range(members)]
        calls = [world.join(group_instance_id=name) for name in names]
        world.clock.advance(3_000)
        for call, name in zip(calls, names, strict=True):
            assert world.sync(call.result, group_instance_id=name).result.error_code == ErrorCode.NONE
        return opcodes_of(lambda: restarted(world, names))

    opcodes(5)
    assert opcodes(800) < 1.2 * 8 * opcodes(100)


def test_ten_thousand_members_join_sync_and_beat() -> None:
    world = World(initial_rebalance_delay_ms=1000)
    calls = [world.join(version=3) for _ in range(10_000)]
    world.clock.advance(3_000)
    results = [call.result for call in calls]
    assert {result.generation_id for result in results} == {1}
    syncs = [world.sync(result, {}) for result in results]
    assert all(sync.result.error_code == 0 for sync in syncs)
    assert all(world.heartbeat(result) == 0 for result in results)
    world.clock.advance(9_000)
    assert all(world.heartbeat(result) == 0 for result in results)
    assert len(world.coordinator.timers) < 25_000
    world.clock.advance(10_000)
    assert world.state() == "Empty"


def test_a_thousand_answers_go_to_their_handlers_a_few_in_each_pass() -> None:
    async def body() -> list[int]:
        answers, loop = AnswerQueue(), asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(1000)]
        for number, future in enumerate(futures):
            answers.put(future.set_result, number)
        passes = []
        while not all(future.done() for future in futures):
            passes.append(sum(future.done() for future in futures))
            await asyncio.sleep(0)
        assert [future.result() for future in futures] == list(range(1000))
        return passes

    passes = asyncio.run(body())
    assert all(after - before <= ANSWERS_A_PASS for before, after in zip([0, *passes], passes, strict=False))


def test_answer_that_fails_does_not_take_those_behind_it_along(caplog: pytest.LogCaptureFixture) -> None:
    async def body() -> list[int]:
        answers, given = AnswerQueue(), list[int]()

        def respond(number: int) -> None:
            if number % 100 == 17:  # in a later pass of the loop, too
                raise ZeroDivisionError
            given.append(number)

        for number in range(300):
            answers.put(respond, number)
        async with asyncio.timeout(10):
            while len(given) < 297:  # noqa: ASYNC110 ends within a few passes
                await asyncio.sleep(0)
        answers.put(given.append, 300)
        return given

    assert asyncio.run(body()) == [number for number in range(301) if number % 100 != 17]
    assert "An answer to a request that waited failed" in caplog.text


# ---- what changes between two steps


def test_a_group_that_gets_a_member_while_it_is_deleted_stays() -> None:
    world = World()
    commit_many(world, "g", 1, 3)
    names = [f"none-{number}" for number in range(100)]
    steps = Stepped(world, world.coordinator.remover.delete_groups(["g", *names]))
    assert steps.next()
    (joined,) = world.stable_group()
    assert steps.to_end().result["g"] == ErrorCode.NON_EMPTY_GROUP
    assert world.heartbeat(joined) == ErrorCode.NONE
    assert len(world.fetched()) == 3
    assert world.restarted().state() == states.STABLE


def test_a_group_that_hands_an_id_out_while_its_tombstone_is_written_stays() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.leave(joined.member_id)
    world.log.is_held = True
    deleted = world.delete_groups("g")
    handed = world.join().result
    assert handed.error_code == ErrorCode.MEMBER_ID_REQUIRED
    world.log.release()
    assert deleted.result == {"g": ErrorCode.NONE}
    again = world.join(handed.member_id)
    world.clock.advance(0)
    assert again.result.error_code == ErrorCode.NONE


def test_a_group_created_again_while_the_one_before_is_deleted_is_not_deleted() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.leave(joined.member_id)
    names = [f"none-{number}" for number in range(100)]
    steps = Stepped(world, world.coordinator.remover.delete_groups(["g", *names]))
    assert steps.next()
    assert world.delete_groups("g").result == {"g": ErrorCode.NONE}
    assert world.join().result.error_code == ErrorCode.MEMBER_ID_REQUIRED
    tombstones = world.log.tombstones()
    assert steps.to_end().result["g"] == ErrorCode.GROUP_ID_NOT_FOUND
    assert world.log.tombstones() == tombstones


def test_an_offset_that_a_new_member_subscribes_to_meanwhile_is_not_deleted() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.commit({U0: 5}, joined)
    steps = Stepped(world, world.coordinator.remover.delete_offsets("g", [("u", [0])]))
    assert steps.next()  # the subscriptions are being read
    world.new_member(protocols=(("range", b"\0\0\0\0\0\1\0\1u\0\0\0\0"),))
    assert steps.to_end().result == (0, [("u", [(0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)])])
    assert U0 in world.fetched()


def test_offsets_that_are_left_when_a_member_subscribes_between_two_batches_stay() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.commit({("u", partition): 5 for partition in range(10)}, joined)
    world.log.tombstone_bytes = 1  # each tombstone in a batch of its own
    steps = Stepped(world, world.coordinator.remover.delete_offsets("g", [("u", list(range(10)))]))
    while len(world.fetched()) > 7:
        assert steps.next()
    world.new_member(protocols=(("range", b"\0\0\0\0\0\1\0\1u\0\0\0\0"),))
    code, ((_, rows),) = steps.to_end().result
    assert (code, {each for _, each in rows}) == (0, {ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC})
    assert len(world.fetched()) == len(world.restarted().fetched()) == 7


def test_an_expiry_whose_group_gets_a_member_between_two_batches_leaves_the_rest() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.commit({("t", partition): 5 for partition in range(10)}, joined)
    world.leave(joined.member_id)
    world.clock.advance(8 * DAY_MS)
    world.log.tombstone_bytes = 1
    steps = Stepped(world, world.coordinator.remover.expire())
    while len(world.fetched()) > 7:
        assert steps.next()
    world.stable_group()
    steps.to_end()
    assert len(world.fetched()) == len(world.restarted().fetched()) == 7
    assert world.restarted().state() == states.STABLE


def test_an_offset_that_a_new_member_subscribes_to_while_expiry_runs_stays() -> None:
    world = World()
    world.commit({T0: 5, U0: 5})
    world.clock.advance(8 * DAY_MS)
    world.stable_group()
    steps = Stepped(world, world.coordinator.remover.expire())
    assert steps.next()
    assert steps.next()  # the subscriptions are being read
    world.new_member(protocols=(("range", b"\0\0\0\0\0\1\0\1u\0\0\0\0"),))
    steps.to_end()
    assert set(world.fetched()) == {T0, U0}


def test_an_offset_that_is_committed_again_while_expiry_runs_stays() -> None:
    world = World()
    for number in range(3):
        world.commit({T0: 5}, group_id=f"group-{number}")
    world.clock.advance(8 * DAY_MS)
    steps = Stepped(world, world.coordinator.remover.expire())
    assert steps.next()
    world.commit({T0: 6}, group_id="group-0")
    steps.to_end()
    assert world.log.tombstones() == 4  # two offsets, two groups
    assert world.fetched("group-0") == world.restarted().fetched("group-0") == {T0: 6}
    assert list(world.coordinator.store.groups) == ["group-0"]


def test_a_group_that_gets_an_offset_or_an_id_while_expiry_runs_stays() -> None:
    world = World()
    for name in ("offset", "id", "gone"):
        (joined,) = world.stable_group(group_id=name)
        world.leave(joined.member_id, group_id=name)
    steps = Stepped(world, world.coordinator.remover.expire())
    assert steps.next()
    world.commit({T0: 6}, group_id="offset")
    assert world.join(group_id="id").result.error_code == ErrorCode.MEMBER_ID_REQUIRED
    steps.to_end()
    assert sorted(world.coordinator.store.groups) == ["id", "offset"]
    assert sorted(world.restarted().coordinator.store.groups) == ["id", "offset"]


def test_offsets_of_a_topic_that_is_made_again_are_kept_when_the_old_one_is_forgotten() -> None:
    world = World()
    world.commit({T0: 5, ("t", 1): 5})
    world.groups.topic_ids["t"] = b"another topic id"
    steps = Stepped(world, world.coordinator.remover.forget_topics(["t"]))
    assert steps.next()
    world.commit({T0: 9}, topic_id=b"another topic id")
    steps.to_end()
    assert world.fetched() == world.restarted().fetched() == {T0: 9}


# ---- partitions that come and go


def loading(world: World, partition: int) -> Stepped:
    """Elects the broker anew; returns the steps that load the partition's groups."""
    loader, partitions = world.coordinator.loader, world.coordinator.partitions
    number = partitions.begin(partition)
    Stepped(world, loader.leave(partition)).to_end()
    read = run_to_end(loader.read(partition))
    return Stepped(world, loader.enter(partition, read, partial(partitions.activate, partition, number)))


def test_a_partition_that_is_given_up_while_it_loads_stays_given_up() -> None:
    world = World()
    world.stable_group()
    partition = world.partition_of("g")
    steps = loading(world, partition)
    assert steps.next()
    world.coordinator.on_resignation(partition)
    steps.to_end()
    assert not world.coordinator.store.groups
    assert world.coordinator.store.check("g") == ErrorCode.NOT_COORDINATOR
    assert world.groups.heartbeat("g", "m", None, 1) == ErrorCode.NOT_COORDINATOR


def test_a_member_that_is_heard_of_before_its_session_begins_is_not_lost() -> None:
    world = World()
    one, two = world.stable_group(2)
    steps = loading(world, world.partition_of("g"))
    while "g" not in world.coordinator.store.groups:
        assert steps.next()
    assert world.heartbeat(one) == ErrorCode.NONE
    world.leave(two.member_id)
    world.clock.advance(9_000)
    steps.to_end()
    world.clock.advance(9_999)
    assert list(world.group().members) == [one.member_id]
    world.clock.advance(1)
    assert not world.group().members
    leases_are_right(world)


# ---- memory that members make the broker hold


def big(size: int, *names: str) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, b"x" * size) for name in names or ("range",))


@pytest.fixture
def small_budget() -> Iterator[World]:
    world = World(group_max_bytes=100_000, unstored_max_bytes=150_000)
    yield world
    indexes_are_right(world)


def test_members_beyond_the_bytes_of_a_group_are_refused_for_good(small_budget: World) -> None:
    world = small_budget
    calls = [world.join(version=3, protocols=big(30_000), protocol_type="x") for _ in range(5)]
    refused = [call.result for call in calls if call.is_answered]
    assert [result.error_code for result in refused] == [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2
    assert len(world.group().members) == 3
    world.clock.advance(0)
    assert all(call.is_answered for call in calls)


@pytest.mark.parametrize("has_synced", [True, False])
def test_members_that_stay_rebalance_when_one_is_refused_for_its_bytes(small_budget: World, has_synced: bool) -> None:
    world = small_budget
    one, two = world.stable_group(2)
    if not has_synced:
        one, two = (call.result for call in [world.join(one.member_id), world.join(two.member_id)])
        world.sync(one, {one.member_id: b"1", two.member_id: b"2"})
        assert world.state() == states.STABLE
    refused = world.join(two.member_id, protocols=big(200_000))
    assert refused.result.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert list(world.group().members) == [one.member_id]
    assert world.heartbeat(one) == ErrorCode.REBALANCE_IN_PROGRESS  # else nobody has the partitions of the other
    assert world.join(one.member_id).result.generation_id == one.generation_id + 1
    world.clock.advance(60_000)


def test_ids_that_are_handed_out_count(small_budget: World) -> None:
    codes = [small_budget.join(client_id="c" * 1000).result.error_code for _ in range(80)]
    assert codes[0] == ErrorCode.MEMBER_ID_REQUIRED
    assert codes[-1] == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(small_budget.group().pending_members) == codes.count(ErrorCode.MEMBER_ID_REQUIRED) < 70
    small_budget.clock.advance(60_000)
    assert small_budget.coordinator.budget.unstored_bytes == 0


def test_joins_beyond_the_limit_of_all_groups_are_retried_and_stored_groups_go_on(small_budget: World) -> None:
    world = small_budget
    (joined,) = world.stable_group(group_id="honest", protocols=big(20_000), protocol_type="x")
    assert world.coordinator.budget.unstored_bytes == 0  # the group's record is written
    for group_id in ("a", "b"):
        world.join(group_id=group_id, version=3, protocols=big(70_000), protocol_type="x")
    refused = world.join(group_id="c", version=3, protocols=big(70_000), protocol_type="x")
    assert refused.result.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert "c" not in world.coordinator.store.groups
    again = world.join(joined.member_id, group_id="honest", protocols=big(20_000), protocol_type="x")
    world.clock.advance(0)
    assert again.result.error_code == 0
    world.leave(*world.group("a").members, group_id="a")
    world.leave(*world.group("b").members, group_id="b")
    assert world.coordinator.budget.unstored_bytes == 0


def test_protocols_that_are_not_selected_count_beyond_the_record(small_budget: World) -> None:
    world = small_budget
    world.stable_group(protocols=(("range", b"x" * 1000), ("other", b"x" * 40_000)), protocol_type="x")
    assert 30_000 < world.coordinator.budget.unstored_bytes < 42_000


@pytest.mark.parametrize("error_code", [ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_static_member_that_comes_back_with_other_metadata_holds_the_bytes_of_that(
    small_budget: World, error_code: int
) -> None:
    world = small_budget
    static: dict[str, Any] = {"group_instance_id": "one", "protocol_type": "x"}
    joined = world.join(protocols=big(20_000), **static)
    world.clock.advance(0)
    assert world.sync(joined.result, group_instance_id="one").result.error_code == ErrorCode.NONE
    before = world.group().holds.held_bytes
    world.log.fail_with = error_code
    for size in (5_000, 30_000):
        world.join(protocols=big(size), **static)
        changed = 0 if error_code else size - 20_000
        assert world.group().holds.held_bytes == before + changed
        indexes_are_right(world)


def test_static_member_that_replaces_one_with_a_longer_id_gives_back_the_difference(small_budget: World) -> None:
    world = small_budget
    member = MemberValue("m" * 1000, "one", "client", "/127.0.0.1", 30_000, 10_000, RANGE[0][1], b"part")
    value = GroupValue("consumer", 3, "range", member.member_id, 99, (member,))
    partition = world.partition_of("g")
    world.log.write(partition, group_key("g"), group_value(value))
    world.coordinator.on_resignation(partition)
    world.load(partition)
    before = world.group().holds.held_bytes
    again = world.join(group_instance_id="one").result
    assert again.error_code == ErrorCode.NONE
    assert world.group().holds.held_bytes == before - 1000 + len(again.member_id)


def test_an_assignment_beyond_one_batch_fails_and_is_not_written() -> None:
    world = World()
    world.log.max_bytes = 10_000
    call = world.new_member()
    world.clock.advance(0)
    written = len(world.log.partitions[world.partition_of("g")])
    synced = world.sync(call.result, {call.result.member_id: b"x" * 20_000})
    assert synced.result.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(world.log.partitions[world.partition_of("g")]) == written
    assert world.state() == states.PREPARING_REBALANCE


def test_a_deletion_appends_its_next_batch_when_the_one_before_is_durable() -> None:
    world = World()
    commit_many(world, "g", 40, 100)
    world.log.is_held = True
    done: list[Any] = []
    run_at_once(world.coordinator.remover.delete_groups(["g"]), done.append)
    assert len(world.log.waiting) == 1
    world.log.release()
    assert done == [{"g": 0}]
