"""The control plane's part of committed offsets: groups that commits create, deletion of offsets and groups, expiry,
listing. Error codes were compared with Apache Kafka 4.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import World, leases_are_right
from unit.coordinator.memory_groups import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_MS = 24 * 60 * 60 * 1000
LONG_MS = 2**31 - 1  # 24 days
T0 = ("t", 0)
U0 = ("u", 0)  # no member of these groups subscribes to it


# ---- groups of the first commit


def test_a_first_commit_makes_a_group_when_it_is_durable() -> None:
    world = World()
    world.log.is_held = True
    call = world.commit({T0: 5})
    assert not call.is_answered
    assert not world.coordinator.store.groups
    world.log.release()
    assert call.result == ErrorCode.NONE
    assert world.state() == "Empty"
    assert world.fetched() == world.restarted().fetched() == {T0: 5}
    assert world.restarted().state() == "Empty"


def test_groups_created_that_repeats_or_names_a_partition_of_another_broker_adds_no_group() -> None:
    world = World()
    world.commit({T0: 5})
    group, partition = world.group(), world.partition_of("g")
    world.coordinator.on_groups_created(partition, ["g"])
    assert world.group() is group
    world.coordinator.on_resignation(partition)
    world.coordinator.on_groups_created(partition, ["g"])
    assert not world.coordinator.store.groups


def test_a_group_of_a_join_takes_the_offsets_of_a_commit_under_way() -> None:
    world = World()
    world.log.is_held = True
    world.commit({T0: 5})
    joined = world.join(version=3)
    world.log.release()
    world.clock.advance(0)
    assert joined.result.error_code == 0
    assert world.fetched() == {T0: 5}
    leases_are_right(world)


@pytest.mark.parametrize("append_error", [ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_commit_that_failed_makes_no_group(append_error: int) -> None:
    world = World()
    world.log.fail_with = append_error
    world.commit({T0: 6})
    assert not world.coordinator.store.groups
    leases_are_right(world)


# ---- delete offsets


def test_offsets_of_a_simple_group_can_be_deleted() -> None:
    world = World()
    world.commit({T0: 5, U0: 6})
    assert world.delete_offsets([("t", [0, 1])]).result == (0, [("t", [(0, 0), (1, 0)])])
    assert world.fetched() == world.restarted().fetched() == {U0: 6}
    assert world.delete_offsets([("t", [0])]).result[0] == 0
    assert world.delete_offsets([("t", [0])], "none").result == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert world.delete_offsets([("t", [0])], "").result == (ErrorCode.INVALID_GROUP_ID, [])


def test_offsets_of_subscribed_topics_and_of_foreign_protocols_stay() -> None:
    world = World()
    (member,) = world.stable_group()
    world.commit({T0: 5, U0: 6}, member)
    answer = world.delete_offsets([("t", [0]), ("u", [0])]).result
    assert answer == (0, [("t", [(0, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)]), ("u", [(0, 0)])])
    assert world.fetched() == {T0: 5}
    (worker,) = world.stable_group(group_id="connect", protocol_type="connect")
    world.commit({T0: 5}, worker, group_id="connect")
    assert world.delete_offsets([("t", [0])], "connect").result == (ErrorCode.NON_EMPTY_GROUP, [])


def test_a_commit_under_way_is_deleted_too_and_a_later_one_is_not() -> None:
    world = World()
    world.commit({U0: 1})
    world.log.is_held = True
    world.commit({T0: 5})
    world.delete_offsets([("t", [0])])
    world.commit({U0: 2})
    world.log.release()
    assert world.fetched() == world.restarted().fetched() == {U0: 2}


# ---- delete groups


def test_empty_groups_can_be_deleted_with_their_offsets() -> None:
    world = World()
    world.commit({T0: 5, U0: 6})
    world.stable_group(group_id="busy")
    answer = world.delete_groups("g", "none", "busy", "g").result
    assert answer == {"g": 0, "none": ErrorCode.GROUP_ID_NOT_FOUND, "busy": ErrorCode.NON_EMPTY_GROUP}
    assert list(world.coordinator.store.groups) == ["busy"]
    after = world.restarted()
    assert list(after.coordinator.store.groups) == ["busy"]
    assert world.delete_groups().result == {}


def test_groups_of_several_partitions_are_deleted_in_one_answer() -> None:
    world = World()
    names = [f"group-{number}" for number in range(20)]
    for name in names:
        world.commit({T0: 5}, group_id=name)
    world.log.is_held = True
    call = world.delete_groups(*names)
    assert not call.is_answered
    world.log.release()
    assert call.result == dict.fromkeys(names, 0)
    assert not world.coordinator.store.groups


@pytest.mark.parametrize("is_late", [False, True])  # the append is refused at once, or fails later
def test_a_deletion_that_cannot_be_written_keeps_the_group(is_late: bool) -> None:
    for offsets, append_error, answer in (
        ({T0: 5}, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        ({}, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
    ):
        world = World()
        (member,) = world.stable_group()
        world.leave(member.member_id)
        if offsets:
            world.commit(offsets)
        world.log.fail_with, world.log.is_held = append_error, is_late
        groups, some = world.delete_groups("g"), world.delete_offsets([("t", [0])])
        world.log.fail_with = 0 if is_late else append_error
        world.log.release()
        assert groups.result == {"g": answer}
        assert some.result[0] == (answer if offsets else ErrorCode.NONE)
        assert world.state() == "Empty"
        assert world.fetched() == world.restarted().fetched() == offsets


@pytest.mark.parametrize("is_commit_first", [True, False])
def test_a_commit_beside_a_deletion_ends_in_the_order_of_the_log(is_commit_first: bool) -> None:
    world = World()
    world.commit({T0: 5})
    world.log.is_held = True
    if is_commit_first:
        world.commit({T0: 6, U0: 7})
    world.delete_groups("g")
    if not is_commit_first:
        world.commit({U0: 7})
    world.log.release()
    assert world.fetched() == world.restarted().fetched() == ({} if is_commit_first else {U0: 7})
    assert bool(world.coordinator.store.groups) is not is_commit_first


def test_a_commit_behind_the_tombstone_of_its_group_creates_the_group_again() -> None:
    world = World()
    (member,) = world.stable_group()
    world.leave(member.member_id)
    world.log.is_held = True
    call = world.delete_groups("g")
    world.commit({U0: 7})
    world.log.release()
    assert call.result == {"g": 0}
    assert world.fetched() == world.restarted().fetched() == {U0: 7}
    assert world.group().generation_id == world.restarted().group().generation_id == 0
    leases_are_right(world)


def test_groups_with_and_without_offsets_are_deleted_together() -> None:
    world = World()
    for name in ("with", "without"):
        (member,) = world.stable_group(group_id=name)
        world.leave(member.member_id, group_id=name)
    world.commit({T0: 5}, group_id="with")
    world.log.is_held = True
    call = world.delete_groups("with", "without")
    world.log.release()
    assert call.result == {"with": 0, "without": 0}
    assert not world.restarted().coordinator.store.groups


def test_groups_with_long_ids_are_deleted_in_batches_that_the_log_takes() -> None:
    world = World(MemoryLog(1))
    names = [f"{number:02}" + "x" * 32_000 for number in range(40)]
    for name in names:
        (member,) = world.stable_group(group_id=name)
        world.leave(member.member_id, group_id=name)
    world.log.max_bytes = 1_000_000
    assert world.delete_groups(*names).result == dict.fromkeys(names, 0)
    assert not world.coordinator.store.groups


def test_a_join_beside_a_deletion_keeps_the_group() -> None:
    world = World()
    world.commit({T0: 5})
    world.log.is_held = True
    world.delete_groups("g")
    joined = world.join(version=3)
    world.log.release()
    world.clock.advance(0)
    assert joined.result.error_code == 0
    assert world.sync(joined.result, {}).result.error_code == 0
    assert world.fetched() == world.restarted().fetched() == {}
    assert world.restarted().state() == "Stable"


# ---- time


def test_offsets_of_an_empty_group_expire_after_it_became_empty() -> None:
    world = World(offsets_retention_minutes=7 * 24 * 60)
    world.coordinator.config.max_session_timeout_ms = LONG_MS
    (member,) = world.stable_group(session_timeout_ms=LONG_MS)
    world.commit({T0: 5}, member)
    world.clock.advance(20 * DAY_MS)
    assert world.expire() == 0  # subscribed
    world.leave(member.member_id)
    world.clock.advance(7 * DAY_MS - 1)
    assert world.expire() == 0
    world.clock.advance(1)
    assert world.expire() == 2
    assert not world.coordinator.store.groups
    assert not world.restarted().coordinator.store.groups


def test_offsets_of_topics_that_a_living_group_no_longer_reads_expire() -> None:
    world = World()
    world.coordinator.config.max_session_timeout_ms = LONG_MS
    (member,) = world.stable_group(session_timeout_ms=LONG_MS)
    world.commit({T0: 5, U0: 6}, member)
    world.clock.advance(7 * DAY_MS)
    assert world.expire() == 1
    assert world.fetched() == world.restarted().fetched() == {T0: 5}


def test_offsets_of_a_simple_group_expire_after_the_commit() -> None:
    world = World()
    world.commit({T0: 5})
    world.clock.advance(4 * DAY_MS)
    world.commit({U0: 6})
    world.clock.advance(3 * DAY_MS)
    world.expire()
    assert world.fetched() == {U0: 6}
    world.clock.advance(4 * DAY_MS)
    world.expire()
    assert not world.coordinator.store.groups


def test_a_retention_that_the_client_gave_wins() -> None:
    world = World()
    world.commit({T0: 5}, retention_ms=DAY_MS)
    world.commit({U0: 6}, retention_ms=30 * DAY_MS)
    world.clock.advance(DAY_MS)
    world.expire()
    assert world.fetched() == {U0: 6}
    world.clock.advance(28 * DAY_MS)
    assert world.expire() == 0


def test_an_offset_with_a_commit_under_way_does_not_expire() -> None:
    world = World()
    world.commit({T0: 5})
    world.clock.advance(8 * DAY_MS)
    world.log.is_held = True
    world.commit({T0: 6})
    assert world.expire() == 0
    world.log.release()
    assert world.fetched() == {T0: 6}


def test_expiry_runs_by_itself_at_its_interval() -> None:
    world = World(offsets_retention_check_interval_ms=600_000)
    world.commit({T0: 5})
    world.clock.advance(7 * DAY_MS + 600_000)
    assert not world.coordinator.store.groups


def test_offsets_of_deleted_topics_go() -> None:
    world = World()
    world.commit({T0: 5, U0: 6})
    world.coordinator.on_topics_deleted(["t", "other"])
    assert world.fetched() == world.restarted().fetched() == {U0: 6}


def test_many_tombstones_go_batch_by_batch() -> None:
    world = World()
    topic = "topic-" + "x" * 200
    acts: list[tuple[Callable[[], object], int]] = [
        (lambda: world.delete_groups("g"), 5001),
        (lambda: world.delete_offsets([(topic, list(range(5000)))]), 5000),
        (lambda: world.coordinator.on_topics_deleted([topic]), 5000),
        (world.expire, 5001),
    ]
    for act, gone in acts:
        world.commit({(topic, partition): 1 for partition in range(5000)})
        world.clock.advance(8 * DAY_MS)
        before = world.log.tombstones()
        act()
        assert world.log.tombstones() - before == gone
        assert world.fetched() == world.restarted().fetched() == {}


# ---- listing


def test_groups_are_listed_by_state_and_type() -> None:
    world = World()
    world.stable_group(group_id="stable")
    world.commit({T0: 5}, group_id="simple")
    rows = {"stable": ("stable", "consumer", "Stable", "classic"), "simple": ("simple", "", "Empty", "classic")}
    listed = world.list_groups

    def names(states: tuple[str, ...], types: tuple[str, ...]) -> set[str]:
        return {row.group_id for row in listed(states, types)[1]}

    assert {row.group_id: tuple(row) for row in listed((), ())[1]} == rows
    assert names(("stable",), ()) == names(("STABLE",), ("Classic",)) == {"stable"}
    assert names(("nonsense",), ()) == names((), ("consumer",)) == set()


def test_a_group_that_is_not_there_is_described_as_dead() -> None:
    described = World().coordinator.describe_group("none")
    assert (described.error_code, described.state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")


def test_metadata_is_described_in_stable_only() -> None:
    world = World()
    joined = world.new_member()
    world.clock.advance(0)
    described = world.coordinator.describe_group("g")
    assert (described.state, described.protocol_name) == ("CompletingRebalance", "")
    assert (described.members[0].metadata, described.members[0].assignment) == (b"", b"")
    world.sync(joined.result, {joined.result.member_id: b"part"})
    described = world.coordinator.describe_group("g")
    assert (described.state, described.protocol_name) == ("Stable", "range")
    assert described.members[0].assignment == b"part"
    assert described.members[0].metadata


def test_groups_begin_anew_where_they_are_placed_since_partitions_were_added(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    names = [f"group-{number}" for number in range(12)]
    for name in names:
        world.commit({T0: 5}, group_id=name)
    before = {name: world.partition_of(name) for name in names}
    world.log.count = 6
    after = world.restarted()
    stayed = {name for name in names if before[name] == after.partition_of(name)}
    assert 0 < len(stayed) < len(names)
    assert set(after.coordinator.store.groups) == stayed
    assert "begin without offsets" in caplog.text
    world.log.is_known = False
    assert set(world.restarted().coordinator.store.groups) == set(names), "nothing is known of places"
    world.log.is_known = True
    for name in names:
        assert after.fetched(name) == ({T0: 5} if name in stayed else {})
        after.commit({T0: 6}, group_id=name)
        after.stable_group(group_id=name)
    assert [after.restarted().fetched(name) for name in names] == [{T0: 6}] * len(names)
