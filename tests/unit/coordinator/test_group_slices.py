"""Long work on groups goes in steps, costs what it brings, and checks again what it relied on (issue 13, Deliver 3)."""

from __future__ import annotations

import asyncio
import gc
import time
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.coordinator.group import states
from kafkastore.coordinator.group.loading import LoadedGroups
from kafkastore.coordinator.group.offsets import CommitPartition, CommitRequest, CommitTopic
from kafkastore.coordinator.group.records import GroupValue, MemberValue, group_key, group_value
from kafkastore.coordinator.group.running import ANSWERS_A_PASS, Answers
from kafkastore.coordinator.group.steps import Appended
from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import RANGE, World, indexes_are_right, run_at_once, value_of
from unit.opcodes import opcodes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

T0, U0 = ("t", 0), ("u", 0)
STEP_LIMIT_S = 0.025  # of CPU: half of what nothing may hold the loop for
DAY_MS = 24 * 3600 * 1000


class Stepped:
    """Steps that a test runs one by one; appends are done at once. ``longest_s``: CPU time of the longest step."""

    def __init__(self, world: World, steps: Any) -> None:
        self.world, self.steps = world, steps
        self.count, self.longest_s = 0, 0.0
        self.result: Any = None
        self._sent: Any = None

    def next(self) -> bool:
        """One step. False: it was the last."""
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
            for partition, records in asked:
                self.world.log.append(partition, records, lambda *result: self._sent.append(Appended(*result)))
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
    assert all(code == 0 for _, codes in world.commit(rows, group_id=group_id).result for _, code in codes)


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
    from kafkastore.coordinator.group.listing import list_groups

    return list_groups(world.coordinator.store, wanted, ())


def test_deleting_a_topic_costs_its_own_offsets_only() -> None:
    counts = {}
    for groups in (100, 2000):
        world = world_of(groups, 5)
        world.commit({("doomed", 0): 1, ("doomed", 1): 1}, group_id="g")
        counts[groups] = steps_of(world, world.coordinator.remover.forget_topics(["doomed", "unknown"]))
        assert world.fetched() == {}
        indexes_are_right(world)
    assert counts[2000] == counts[100] <= 4


def test_no_step_over_a_hundred_thousand_offsets_is_long() -> None:
    world = World()
    commit_many(world, "g", 100, 1000)
    wanted = [(f"topic-{topic}", None, range(1000)) for topic in range(100)]
    offsets, remover = world.coordinator.offsets, world.coordinator.remover
    everything = Stepped(world, offsets.fetch("g", None)).to_end()
    assert sum(len(rows) for _, rows in everything.result.topics) == 100_000
    for steps in (
        everything,
        Stepped(world, offsets.fetch("g", wanted)).to_end(),
        Stepped(world, remover.expire()).to_end(),
        Stepped(world, remover.delete_offsets("g", [(name, rows) for name, _, rows in wanted[:50]])).to_end(),
        Stepped(world, remover.delete_groups(["g"])).to_end(),
    ):
        assert steps.longest_s < STEP_LIMIT_S
        assert steps.count > 20
    assert not world.coordinator.store.groups


def test_a_commit_beyond_one_batch_is_refused_before_its_records_are_made() -> None:
    world = World()
    world.log.max_bytes = 10_000
    topic = CommitTopic("t", None, tuple(CommitPartition(index, 5, -1, "") for index in range(10_000)))
    steps = Stepped(world, world.coordinator.offsets.prepare_commit(CommitRequest("g", "", None, -1, 9, (topic,))))
    steps.to_end()
    assert len(steps.result.records) < 1000
    answered: list[Any] = []
    world.coordinator.offsets.commit(steps.result, answered.append)
    assert {code for _, code in answered[0][0][1]} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert not world.coordinator.store.groups
    assert not world.log.partitions


def test_a_record_of_ten_thousand_members_is_loaded_in_short_steps() -> None:
    world = World()
    member = MemberValue("", None, "client", "/127.0.0.1", 30_000, 10_000, RANGE[0][1], b"part")
    rows = tuple(member._replace(member_id=f"member-{number}") for number in range(10_000))
    partition = world.partition_of("g")
    world.log.write(partition, group_key("g"), group_value(GroupValue("consumer", 3, "range", "member-0", 99, rows)))
    loaded = LoadedGroups(world.coordinator.loader, partition)
    apply = Stepped(world, loaded.apply(world.log.rows(partition))).to_end()
    assert "g" not in world.coordinator.store.groups
    finish = Stepped(world, world.coordinator.loader.finish(loaded))
    finish.next()
    assert len(world.group().members) == 10_000
    finish.to_end()
    assert max(apply.longest_s, finish.longest_s) < STEP_LIMIT_S
    assert apply.count > 300
    assert finish.count > 300
    assert all(each.session_timer.is_running for each in world.group().members.values())
    assert world.coordinator.store.budget.unstored_bytes == 0


def test_a_thousand_members_join_and_sync_in_linear_time() -> None:
    def opcodes(members: int) -> int:
        world = World()
        return opcodes_of(lambda: world.stable_group(members))

    opcodes(5)  # what is imported and kept at the first use
    assert opcodes(1600) < 9 * opcodes(200)  # eight times the members; quadratic would be 64 times


def test_a_thousand_answers_go_to_their_handlers_a_few_in_each_pass() -> None:
    async def body() -> list[int]:
        answers, loop = Answers(), asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(1000)]
        for number, future in enumerate(futures):
            answers.put(future, number)
        passes = []
        while not all(future.done() for future in futures):
            passes.append(sum(future.done() for future in futures))
            await asyncio.sleep(0)
        assert [future.result() for future in futures] == list(range(1000))
        return passes

    passes = asyncio.run(body())
    assert all(after - before <= ANSWERS_A_PASS for before, after in zip([0, *passes], passes, strict=False))


# ---- what changes between two steps


def test_a_fetch_whose_group_moves_away_meanwhile_answers_that() -> None:
    world = World()
    commit_many(world, "g", 10, 100)
    steps = Stepped(world, world.coordinator.offsets.fetch("g", None))
    assert steps.next()
    world.coordinator.on_resignation(world.partition_of("g"))
    assert steps.to_end().result == (ErrorCode.NOT_COORDINATOR, [])


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


def test_an_offset_that_a_new_member_subscribes_to_meanwhile_is_not_deleted() -> None:
    world = World()
    (joined,) = world.stable_group()
    world.commit({U0: 5}, joined)
    steps = Stepped(world, world.coordinator.remover.delete_offsets("g", [("u", [0])]))
    while not steps.steps.gi_frame.f_locals.get("errors"):  # the subscriptions have been read
        assert steps.next()
    world.new_member(protocols=(("range", b"\0\0\0\0\0\1\0\1u\0\0\0\0"),))
    assert steps.to_end().result == (0, [("u", [(0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)])])
    assert U0 in world.fetched()


def test_an_offset_that_is_committed_anew_while_expiry_runs_stays() -> None:
    world = World()
    for number in range(3):
        world.commit({T0: 5}, group_id=f"group-{number}")
    world.clock.advance(8 * DAY_MS)
    steps = Stepped(world, world.coordinator.remover.expire())
    for _ in range(4):
        assert steps.next()
    world.commit({T0: 6}, group_id="group-0")
    assert steps.to_end().result == 4  # two offsets, two groups
    assert world.fetched("group-0") == world.restarted().fetched("group-0") == {T0: 6}
    assert list(world.coordinator.store.groups) == ["group-0"]


def test_offsets_of_a_topic_that_is_made_again_are_kept_when_the_old_one_is_forgotten() -> None:
    world = World()
    world.commit({T0: 5})
    steps = Stepped(world, world.coordinator.remover.forget_topics(["t"]))
    assert steps.next()
    topic = CommitTopic("t", b"another topic id", (CommitPartition(0, 9, -1, ""),))
    prepared = value_of(
        world.coordinator.offsets.prepare_commit(CommitRequest("g", "", None, -1, 9, (topic,))), world.log
    )
    world.coordinator.offsets.commit(prepared, lambda _: None)
    steps.to_end()
    assert world.fetched() == world.restarted().fetched() == {T0: 9}


def test_groups_of_a_partition_that_is_given_up_are_gone_at_once_and_ended_in_steps() -> None:
    world = World()
    names = [f"group-{number}" for number in range(40)]
    joined = {name: world.stable_group(group_id=name)[0] for name in names}
    partition = world.partition_of(names[0])
    mine = [name for name in names if world.partition_of(name) == partition]
    shard = world.coordinator.loader.resign(partition)
    assert not set(mine) & set(world.coordinator.store.groups)
    assert {world.heartbeat(joined[name], name) for name in mine} == {ErrorCode.NOT_COORDINATOR}
    before = len(world.log.partitions[partition])
    world.clock.advance(60_000)  # every session of theirs is over: nobody acts on it
    assert len(world.log.partitions[partition]) == before
    steps = Stepped(world, world.coordinator.loader.end(shard))
    assert steps.to_end().count == len(mine) + 1
    assert shard is not None
    assert {group.state for group in shard.groups.values()} == {states.DEAD}


# ---- bytes that members make the broker keep


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


def test_ids_that_are_handed_out_count(small_budget: World) -> None:
    codes = [small_budget.join(client_id="c" * 1000).result.error_code for _ in range(80)]
    assert codes[0] == ErrorCode.MEMBER_ID_REQUIRED
    assert codes[-1] == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(small_budget.group().pending_members) == codes.count(ErrorCode.MEMBER_ID_REQUIRED) < 70
    small_budget.clock.advance(60_000)
    assert small_budget.coordinator.store.budget.unstored_bytes == 0


def test_all_groups_together_are_told_to_come_again_and_stored_ones_go_on(small_budget: World) -> None:
    world = small_budget
    (joined,) = world.stable_group(group_id="honest", protocols=big(20_000), protocol_type="x")
    assert world.coordinator.store.budget.unstored_bytes == 0  # the log has it
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
    assert world.coordinator.store.budget.unstored_bytes == 0


def test_protocols_that_are_not_selected_count_beyond_the_record(small_budget: World) -> None:
    world = small_budget
    world.stable_group(protocols=(("range", b"x" * 1000), ("other", b"x" * 40_000)), protocol_type="x")
    assert 30_000 < world.coordinator.store.budget.unstored_bytes < 42_000


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
    run_at_once(world.coordinator.remover.delete_groups(["g"]), world.log, done.append)
    assert len(world.log.waiting) == 1
    world.log.release()
    assert done == [{"g": 0}]
