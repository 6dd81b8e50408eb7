"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup as Apache Kafka 4.3 answers them. Error codes were compared with a
running Kafka broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.coordinator.group.classic.membership import LeavingMember
from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import RANGE, World, value_of
from unit.coordinator.memory_groups import ExpiredSession

if TYPE_CHECKING:
    from kafkastore.coordinator.group.classic.member import JoinResult

TWO = (("range", b"\0\0\0\0\0\1\0\1t\0\0\0\0"), ("roundrobin", b"\0\0\0\0\0\1\0\1t\0\0\0\0"))


# ---- joining


@pytest.mark.parametrize(
    ("fields", "error_code", "member_id"),
    [
        ({"session_timeout_ms": 999}, ErrorCode.INVALID_SESSION_TIMEOUT, ""),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT, ""),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID, ""),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID, "nobody"),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ""),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ""),
    ],
)
def test_joins_that_are_refused(fields: dict[str, object], error_code: int, member_id: str) -> None:
    result = World().join(**fields).result
    assert (result.error_code, result.member_id, result.generation_id) == (error_code, member_id, -1)


def test_a_dynamic_member_is_handed_an_id_from_version_4_on() -> None:
    world = World()
    handed = world.join().result
    assert handed.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert handed.member_id.startswith("client-")
    assert len(handed.member_id) == len("client-") + 36
    joined = world.join(handed.member_id)
    world.clock.advance(0)
    assert joined.result.member_id == joined.result.leader == handed.member_id
    assert joined.result.generation_id == 1


def test_a_dynamic_member_is_added_at_once_before_version_4() -> None:
    world = World()
    joined = world.join(version=3)
    world.clock.advance(0)
    assert joined.result.error_code == 0


def test_an_id_that_is_not_used_is_forgotten_after_the_session_timeout() -> None:
    world = World()
    handed = world.join().result
    world.clock.advance(10_000)
    assert not world.group().pending_members
    assert world.join(handed.member_id).result.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_an_id_that_is_handed_out_holds_the_rebalance_back_until_it_is_used_or_lapses() -> None:
    world = World()
    (leader,) = world.stable_group()
    handed = world.join(session_timeout_ms=5000).result
    rejoined = world.join(leader.member_id)
    assert not rejoined.is_answered
    world.clock.advance(5000)
    assert rejoined.result.generation_id == 2
    assert handed.member_id not in world.group().members


def test_a_pending_id_with_an_instance_id_is_an_unknown_server_error_as_in_kafka() -> None:
    world = World()
    handed = world.join().result
    result = world.join(handed.member_id, group_instance_id="i").result
    assert (result.error_code, result.member_id) == (ErrorCode.UNKNOWN_SERVER_ERROR, "")


def test_the_first_rebalance_waits_for_more_members_while_they_keep_coming() -> None:
    world = World(initial_rebalance_delay_ms=3000)
    first = world.join(version=3, rebalance_timeout_ms=10_000)
    world.clock.advance(2000)
    second = world.join(version=3, rebalance_timeout_ms=10_000)
    world.clock.advance(1000)  # the delay ends; a member came, so it lasts 3 s more
    assert not first.is_answered
    world.clock.advance(2999)
    assert not first.is_answered
    world.clock.advance(1)
    assert first.result.generation_id == second.result.generation_id == 1
    assert first.result.leader == second.result.leader == first.result.member_id
    assert {member.member_id for member in first.result.members} == {first.result.member_id, second.result.member_id}
    assert second.result.members == ()


def test_the_initial_wait_never_exceeds_the_rebalance_timeout() -> None:
    world = World(initial_rebalance_delay_ms=3000)
    calls = [world.join(version=3, rebalance_timeout_ms=7000)]
    for _ in range(6):
        world.clock.advance(1000)
        calls.append(world.join(version=3, rebalance_timeout_ms=7000))
    assert not calls[0].is_answered
    world.clock.advance(1000)
    assert calls[0].result.generation_id == 1


def test_a_join_phase_ends_once_when_all_known_members_have_rejoined() -> None:
    world = World()
    one, two = world.stable_group(2)
    first = world.join(one.member_id)
    assert world.state() == "PreparingRebalance"
    assert not first.is_answered
    second = world.join(two.member_id)
    assert first.result.generation_id == second.result.generation_id == one.generation_id + 1
    world.clock.advance(0)


def test_members_who_do_not_rejoin_in_time_are_removed() -> None:
    world = World()
    one, two = world.stable_group(2, session_timeout_ms=100_000)
    rejoined = world.join(one.member_id, session_timeout_ms=100_000)
    world.clock.advance(29_999)
    assert not rejoined.is_answered
    world.clock.advance(1)
    assert [member.member_id for member in rejoined.result.members] == [one.member_id]
    assert world.heartbeat(two) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_who_does_not_rejoin_is_replaced_by_one_who_did() -> None:
    world = World()
    leader, follower = world.stable_group(2, session_timeout_ms=100_000)
    rejoined = world.join(follower.member_id, session_timeout_ms=100_000, protocols=TWO)
    world.clock.advance(30_000)
    assert rejoined.result.leader == follower.member_id != leader.member_id


def test_when_only_static_members_are_left_and_none_rejoins_the_group_waits_again() -> None:
    world = World()
    fields = {"session_timeout_ms": 100_000}
    joined = world.join(group_instance_id="one", **fields)
    world.clock.advance(0)
    world.sync(joined.result, group_instance_id="one")
    newcomer = world.new_member(**fields)
    world.leave(next(member for member in world.group().members if member != joined.result.member_id))
    assert newcomer.result.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.clock.advance(30_000)
    assert world.state() == "PreparingRebalance"
    world.clock.advance(70_000)  # its session ends
    assert world.state() == "Empty"


def test_an_existing_leader_that_joins_forces_a_rebalance_and_a_follower_does_not() -> None:
    world = World()
    leader, follower = world.stable_group(2)
    again = world.join(follower.member_id).result
    assert (again.generation_id, again.members, again.leader) == (leader.generation_id, (), leader.member_id)
    assert world.state() == "Stable"
    world.join(leader.member_id)
    assert world.state() == "PreparingRebalance"


def test_a_follower_with_new_metadata_forces_a_rebalance() -> None:
    world = World()
    _, follower = world.stable_group(2)
    world.join(follower.member_id, protocols=TWO)
    assert world.state() == "PreparingRebalance"


def test_a_repeated_join_before_the_sync_gets_the_same_generation() -> None:
    world = World()
    call = world.new_member()
    world.clock.advance(0)
    again = world.join(call.result.member_id)
    assert again.result == call.result
    changed = world.join(call.result.member_id, protocols=TWO)
    assert changed.result.generation_id == 2


def test_a_join_that_replaces_an_earlier_one_of_the_same_member_answers_that_one() -> None:
    world = World()
    one, _ = world.stable_group(2)
    first = world.join(one.member_id)
    second = world.join(one.member_id)
    assert first.result.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert not second.is_answered


def test_a_new_member_that_waits_too_long_is_dropped() -> None:
    world = World()
    world.stable_group(1, session_timeout_ms=1_000_000, rebalance_timeout_ms=1_000_000)
    newcomer = world.new_member(session_timeout_ms=1_000_000, rebalance_timeout_ms=1_000_000)
    world.clock.advance(299_999)
    assert not newcomer.is_answered
    world.clock.advance(1)
    assert newcomer.result.error_code == ErrorCode.UNKNOWN_MEMBER_ID


# ---- protocols


def test_the_protocol_with_most_first_choices_wins() -> None:
    world = World(initial_rebalance_delay_ms=10)
    a, b = (("a", b""), ("b", b"")), (("b", b""), ("a", b""))
    calls = [world.join(version=3, protocols=protocols) for protocols in (a, b, b, (*a, ("c", b"")), b)]
    world.clock.advance(100_000)
    assert {call.result.protocol_name for call in calls} == {"b"}


def test_selected_protocol_is_supported_by_every_member() -> None:
    world = World(initial_rebalance_delay_ms=10)
    calls = [
        world.join(version=3, protocols=(("x", b""), ("y", b""))),
        world.join(version=3, protocols=(("x", b""), ("y", b""))),
        world.join(version=3, protocols=(("z", b""), ("y", b"1"))),
    ]
    world.clock.advance(100_000)
    assert calls[0].result.protocol_name == "y"
    assert [member.metadata for member in calls[0].result.members] == [b"", b"", b"1"]


def test_a_member_with_no_protocol_in_common_or_another_type_is_refused() -> None:
    world = World()
    world.stable_group()
    for fields in ({"protocols": (("other", b""),)}, {"protocol_type": "connect"}):
        assert world.join(**fields).result.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


# ---- size


def test_a_full_group_refuses_new_members() -> None:
    world = World(max_size=2)
    world.stable_group(2)
    result = world.join().result
    assert (result.error_code, result.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")


def test_the_last_to_rejoin_is_refused_when_the_limit_was_lowered() -> None:
    world = World()
    one, two, three = world.stable_group(3)
    world.coordinator.config.max_size = 2
    calls = [world.join(one.member_id), world.join(two.member_id)]
    assert world.join(three.member_id).result.error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    world.join(one.member_id)
    assert three.member_id not in world.group().members
    assert calls[1].result.generation_id == one.generation_id + 1


# ---- syncing


def test_every_member_gets_its_part_when_the_leader_has_synced_and_it_is_durable() -> None:
    world = World(initial_rebalance_delay_ms=10)
    calls = [world.join(version=3) for _ in range(2)]
    world.clock.advance(20)
    leader, follower = calls[0].result, calls[1].result
    waiting = world.sync(follower)
    world.log.is_held = True
    synced = world.sync(leader, {leader.member_id: b"L", follower.member_id: b"F", "stranger": b"S"})
    assert not synced.is_answered
    assert world.state() == "CompletingRebalance"
    world.log.release()
    assert synced.result == (0, "consumer", "range", b"L")
    assert waiting.result == (0, "consumer", "range", b"F")
    assert world.state() == "Stable"
    assert world.sync(follower).result.assignment == b"F"


def test_a_member_without_a_part_gets_an_empty_one() -> None:
    world = World()
    joined = world.new_member()
    world.clock.advance(0)
    assert world.sync(joined.result, {}).result == (0, "consumer", "range", b"")


def test_an_assignment_that_cannot_be_written_starts_another_rebalance() -> None:
    for append_error, answer in (
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ):
        world = World()
        joined = world.new_member()
        world.clock.advance(0)
        world.log.fail_with = append_error
        assert world.sync(joined.result, {}).result.error_code == answer
        assert world.state() == "PreparingRebalance"


def test_an_assignment_that_comes_too_late_is_dropped() -> None:
    world = World()
    (leader,) = world.stable_group()
    rejoined = world.join(leader.member_id).result
    world.log.is_held = True
    synced = world.sync(rejoined, {rejoined.member_id: b"old"})
    world.new_member()
    assert synced.result.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    world.log.release()
    assert world.state() == "PreparingRebalance"


def test_an_assignment_that_comes_after_the_next_generation_has_begun_is_dropped() -> None:
    world = World()
    (leader,) = world.stable_group()
    rejoined = world.join(leader.member_id).result
    world.log.is_held = True
    late = world.sync(rejoined, {rejoined.member_id: b"old"})
    other = world.new_member()
    leads = world.join(leader.member_id).result
    waiting = world.sync(other.result)
    world.log.release()
    assert late.result.error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.state() == "CompletingRebalance"
    assert not waiting.is_answered
    world.sync(leads, {other.result.member_id: b"new"})
    assert waiting.result.assignment == b"new"


def test_a_group_that_was_given_up_does_not_end_its_join_phase() -> None:
    world = World()
    one, _ = world.stable_group(2, session_timeout_ms=100_000)
    rejoined = world.join(one.member_id, session_timeout_ms=100_000)
    partition = world.partition_of("g")
    records = len(world.log.partitions[partition])
    ending = world.coordinator.loader.leave(partition)  # its groups are gone, and end one by one
    world.clock.advance(30_000)
    assert not rejoined.is_answered
    value_of(ending)
    assert rejoined.result.error_code == ErrorCode.NOT_COORDINATOR
    assert len(world.log.partitions[partition]) == records


@pytest.mark.parametrize("syncs", [True, False])
def test_a_static_member_that_comes_back_owes_the_sync_of_its_earlier_id(syncs: bool) -> None:
    world = World(initial_rebalance_delay_ms=10)
    fields = {"session_timeout_ms": 100_000}
    calls = [world.join(group_instance_id=name, **fields) for name in ("one", "two")]
    world.clock.advance(20)
    leader, follower = (call.result for call in calls)
    world.sync(leader, {leader.member_id: b"L", follower.member_id: b"F"})
    assert world.state() == "Stable"
    back = world.join(group_instance_id="two", **fields).result
    assert back.member_id != follower.member_id
    if syncs:
        assert world.sync(back).result.assignment == b"F"
    world.clock.advance(30_000)
    assert set(world.group().members) == {leader.member_id, *([back.member_id] if syncs else [])}


def test_members_who_do_not_sync_in_time_are_removed() -> None:
    world = World(initial_rebalance_delay_ms=10)
    calls = [world.join(version=3, session_timeout_ms=100_000) for _ in range(2)]
    world.clock.advance(30_000)
    leader = calls[0].result
    synced = world.sync(leader, {})
    assert synced.result.error_code == 0
    world.clock.advance(30_000)
    assert list(world.group().members) == [leader.member_id]
    assert world.state() == "PreparingRebalance"


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"group_id": "none"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"member_id": "zz"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 7}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "x"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None}, ErrorCode.NONE),
    ],
)
def test_sync_checks(fields: dict[str, object], error_code: int) -> None:
    world = World()
    joined = world.new_member()
    world.clock.advance(0)
    assert world.sync(joined.result, **fields).result.error_code == error_code


def test_a_sync_during_a_rebalance_is_answered_rebalance_in_progress() -> None:
    world = World()
    one, two = world.stable_group(2)
    world.join(one.member_id)
    assert world.sync(two).result.error_code == ErrorCode.REBALANCE_IN_PROGRESS


# ---- heartbeats and sessions


def test_heartbeats_keep_a_session_and_silence_ends_it() -> None:
    world = World()
    (member,) = world.stable_group()
    for _ in range(5):
        world.clock.advance(9000)
        assert world.heartbeat(member) == ErrorCode.NONE
    world.clock.advance(10_000)
    assert world.state() == "Empty"
    assert world.heartbeat(member) == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_end_of_a_session_says_nothing_of_a_member_that_has_another_by_then() -> None:
    world = World()
    (joined,) = world.stable_group()
    shard = world.group().shard
    world.coordinator.on_sessions_expired([ExpiredSession(shard.partition, shard.number, "g", joined.member_id)])
    assert world.heartbeat(joined) == ErrorCode.NONE
    assert world.state() == "Stable"


def test_heartbeat_answers() -> None:
    world = World()
    one, two = world.stable_group(2)
    assert world.heartbeat(one._replace(generation_id=7)) == ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat(one._replace(member_id="zz")) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(one, instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(one, group_id="none") == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(one, group_id="") == ErrorCode.INVALID_GROUP_ID
    world.join(one.member_id)
    assert world.heartbeat(two) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_whose_join_waits_needs_no_heartbeats() -> None:
    world = World()
    one, two = world.stable_group(2, rebalance_timeout_ms=60_000)
    rejoined = world.join(one.member_id, rebalance_timeout_ms=60_000)
    for _ in range(5):
        world.clock.advance(9000)
        world.heartbeat(two)
    assert not rejoined.is_answered
    world.join(two.member_id)
    assert rejoined.result.error_code == 0


def test_a_member_that_dies_during_a_rebalance_lets_it_complete() -> None:
    world = World()
    one, _ = world.stable_group(2)
    rejoined = world.join(one.member_id)
    world.clock.advance(10_000)
    assert rejoined.result.generation_id == one.generation_id + 1


# ---- leaving


def test_leaving_rebalances_the_others_and_the_last_one_empties_the_group() -> None:
    world = World()
    one, two = world.stable_group(2)
    assert world.leave(two.member_id) == (0, (0,))
    assert world.heartbeat(one) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.leave(one.member_id) == (0, (0,))
    assert world.state() == "Empty"
    assert world.group().generation_id == one.generation_id + 1
    assert world.restarted().state() == "Empty"


def test_leave_answers_for_each_member() -> None:
    world = World()
    joined = world.join(group_instance_id="one")
    world.clock.advance(0)
    pending = world.join().result.member_id
    leave = world.coordinator.leave_group
    static_id = joined.result.member_id
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert leave("none", [LeavingMember("zz"), LeavingMember("yy")]) == (0, (unknown, unknown))
    assert leave("", []) == (ErrorCode.INVALID_GROUP_ID, ())
    rows = [LeavingMember("", "other"), LeavingMember(""), LeavingMember("zz", "one"), LeavingMember("zz")]
    assert leave("g", rows) == (0, (unknown, unknown, ErrorCode.FENCED_INSTANCE_ID, unknown))
    assert static_id in world.group().members
    assert leave("g", [LeavingMember(pending), LeavingMember("", "one")]) == (0, (0, 0))
    assert world.state() == "Empty"


def test_a_member_that_leaves_while_its_requests_wait_has_them_answered() -> None:
    world = World()
    one, two = world.stable_group(2)
    waiting = world.join(one.member_id)
    world.leave(one.member_id)
    assert waiting.result.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    joined = world.join(two.member_id).result
    other = world.new_member()
    world.join(two.member_id)
    joined = other.result
    syncing = world.sync(joined)
    world.leave(joined.member_id)
    assert syncing.result.error_code == ErrorCode.UNKNOWN_MEMBER_ID


# ---- static members


def static_world() -> tuple[World, object]:
    world = World()
    joined = world.join(group_instance_id="one")
    world.clock.advance(0)
    synced = world.sync(joined.result, {joined.result.member_id: b"part"}, group_instance_id="one")
    assert synced.result.error_code == 0
    return world, joined.result


def test_a_static_member_joins_at_once_with_an_id_made_of_its_instance() -> None:
    _, joined = static_world()
    assert joined.error_code == 0  # type: ignore[attr-defined]
    assert joined.member_id.startswith("one-")  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [8, 9])
def test_a_static_member_that_comes_back_takes_its_place_without_a_rebalance(version: int) -> None:
    world, before = static_world()
    again = world.join(version=version, group_instance_id="one").result
    assert again.error_code == 0
    assert again.generation_id == 1
    assert again.member_id != before.member_id  # type: ignore[attr-defined]
    assert again.skip_assignment == (version >= 9)
    assert again.leader == (again.member_id if version >= 9 else before.member_id)  # type: ignore[attr-defined]
    assert len(again.members) == (1 if version >= 9 else 0)
    assert world.state() == "Stable"
    assert world.sync(again, group_instance_id="one").result.assignment == b"part"
    assert world.heartbeat(before, instance_id="one") == ErrorCode.FENCED_INSTANCE_ID  # type: ignore[arg-type]
    fenced = world.join(before.member_id, group_instance_id="one").result  # type: ignore[attr-defined]
    assert fenced.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert fenced.member_id == before.member_id  # type: ignore[attr-defined]
    # its new id is durable
    assert [row.member_id for row in world.restarted().coordinator.describe_group("g").members] == [again.member_id]


def test_a_static_member_that_changes_the_protocol_rebalances() -> None:
    world, _ = static_world()
    again = world.join(group_instance_id="one", protocols=(("other", b""),))
    assert again.result.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    again = world.join(group_instance_id="one", protocols=(("other", b""), *RANGE))
    world.clock.advance(0)
    assert again.result.generation_id == 2


def test_a_static_replacement_that_cannot_be_written_is_taken_back() -> None:
    world, before = static_world()
    world.log.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    again = world.join(group_instance_id="one", session_timeout_ms=20_000).result
    assert (again.error_code, again.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert world.heartbeat(before, instance_id="one") == ErrorCode.NONE  # type: ignore[arg-type]
    assert world.group().members[before.member_id].session_timeout_ms == 10_000  # type: ignore[attr-defined]


def test_a_static_replacement_that_takes_longer_to_write_than_its_session_has_one_then() -> None:
    world, _ = static_world()
    world.log.is_held = True
    again = world.join(group_instance_id="one")
    world.clock.advance(11_000)
    world.log.release()
    assert again.result.error_code == 0
    world.clock.advance(10_000)  # the member never sends a heartbeat
    assert not world.group().members


def two_static_members() -> tuple[World, list[JoinResult]]:
    world = World(initial_rebalance_delay_ms=1000)
    calls = [world.join(group_instance_id=name) for name in ("one", "two")]
    world.clock.advance(3_000)
    for call, name in zip(calls, ("one", "two"), strict=True):
        assert world.sync(call.result, group_instance_id=name).result.error_code == ErrorCode.NONE
    return world, [call.result for call in calls]


def test_static_members_that_come_back_while_one_is_written_are_written_together() -> None:
    world, _ = two_static_members()
    world.log.is_held = True
    calls = [world.join(group_instance_id=name) for name in ("one", "two", "two")]
    assert calls[1].result.error_code == ErrorCode.FENCED_INSTANCE_ID, "another has come in its place"
    assert not calls[0].is_answered
    world.log.waiting.popleft()()
    assert calls[0].result.error_code == ErrorCode.NONE
    assert not calls[2].is_answered, "the record that is durable has not got it"
    world.log.release()
    assert calls[2].result.error_code == ErrorCode.NONE
    described = world.restarted().coordinator.describe_group("g").members
    assert {row.member_id for row in described} == {call.result.member_id for call in (calls[0], calls[2])}


def test_static_members_that_could_not_be_written_are_taken_back_and_those_behind_are_written() -> None:
    world, (one, _) = two_static_members()
    world.log.is_held = True
    world.log.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    first = world.join(group_instance_id="one")
    world.log.fail_with = ErrorCode.NONE
    second = world.join(group_instance_id="two")
    world.log.release()
    assert (first.result.error_code, first.result.member_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, "")
    assert second.result.error_code == ErrorCode.NONE
    described = world.restarted().coordinator.describe_group("g").members
    assert {row.member_id for row in described} == {one.member_id, second.result.member_id}


def test_static_member_that_waits_to_be_written_is_answered_by_a_rebalance_that_comes_first() -> None:
    world, (one, _) = two_static_members()
    world.log.is_held = True
    again = [world.join(group_instance_id=name) for name in ("one", "two")]
    new = world.new_member()
    assert new.result.generation_id == 2
    assert [call.result.generation_id for call in again] == [2, 2]
    world.log.release()
    assert world.heartbeat(one, instance_id="one") == ErrorCode.FENCED_INSTANCE_ID


def test_group_of_an_earlier_load_writes_nothing_into_the_log_of_a_later_one() -> None:
    world, _ = two_static_members()
    partition = world.partition_of("g")
    world.log.is_held = True
    calls = [world.join(group_instance_id=name) for name in ("one", "two")]
    ending = world.coordinator.loader.leave(partition)  # another epoch: the groups here end one by one
    records = len(world.log.partitions[partition])
    world.log.release()
    assert len(world.log.partitions[partition]) == records
    value_of(ending)
    assert [call.result.error_code for call in calls] == [ErrorCode.NONE, ErrorCode.NOT_COORDINATOR]


def test_a_static_member_that_comes_back_during_a_rebalance_fences_its_waiting_request() -> None:
    world, before = static_world()
    other = world.new_member()
    waiting = world.join(before.member_id, group_instance_id="one")  # type: ignore[attr-defined]
    assert waiting.result.error_code == 0
    assert other.result.generation_id == 2
    syncing = world.sync(waiting.result, {}, generation_id=2, group_instance_id="one")
    assert syncing.result.error_code == 0
    third = world.new_member()
    waiting = world.join(before.member_id, group_instance_id="one")  # type: ignore[attr-defined]
    again = world.join(group_instance_id="one")
    assert waiting.result.error_code == ErrorCode.FENCED_INSTANCE_ID
    world.join(other.result.member_id)
    assert again.result.generation_id == third.result.generation_id == 3


def test_a_static_member_that_comes_back_before_the_assignment_starts_the_rebalance_again() -> None:
    world = World()
    joined = world.join(group_instance_id="one")
    world.clock.advance(0)
    again = world.join(group_instance_id="one")
    assert again.result.generation_id == joined.result.generation_id + 1


# ---- partitions and restarts


def test_a_group_whose_partition_is_resigned_or_loads_is_answered_with_that_error() -> None:
    world = World()
    (member,) = world.stable_group()
    partition = world.partition_of("g")
    waiting = world.join(member.member_id)
    waiting = world.new_member()
    world.coordinator.on_resignation(partition)
    assert waiting.result.error_code == ErrorCode.NOT_COORDINATOR
    assert world.join().result == (ErrorCode.NOT_COORDINATOR, "", -1, None, None, "", False, ())
    assert world.heartbeat(member) == ErrorCode.NOT_COORDINATOR
    assert world.sync(member).result.error_code == ErrorCode.NOT_COORDINATOR
    assert world.leave(member.member_id) == (ErrorCode.NOT_COORDINATOR, ())
    assert world.coordinator.describe_group("g").error_code == ErrorCode.NOT_COORDINATOR
    world.coordinator.partitions.begin(partition)
    world.groups.begin(partition)
    assert world.join().result.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.heartbeat(member) == ErrorCode.NONE
    assert world.list_groups((), ())[0] == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.load(partition)
    assert world.state() == "Stable"
    assert world.heartbeat(member) == ErrorCode.NONE


def test_after_a_restart_members_go_on_and_silent_ones_expire() -> None:
    world = World()
    one, two = world.stable_group(2)
    after = world.restarted()
    assert after.state() == "Stable"
    assert after.heartbeat(one) == ErrorCode.NONE
    assert after.sync(two).result.assignment == two.member_id.encode()
    after.clock.advance(9_000)
    after.heartbeat(one)
    after.clock.advance(1_000)
    assert list(after.group().members) == [one.member_id]
    assert after.state() == "PreparingRebalance"
    assert after.join(one.member_id).result.generation_id == one.generation_id + 1


def test_a_group_that_is_loaded_over_its_limit_rebalances() -> None:
    world = World()
    world.stable_group(3)
    assert world.restarted(max_size=2).state() == "PreparingRebalance"


def test_after_shutdown_no_request_is_served_and_none_waits() -> None:
    world = World()
    (member,) = world.stable_group()
    waiting = world.new_member()
    world.coordinator.shutdown()
    assert waiting.result.error_code == ErrorCode.NOT_COORDINATOR
    assert world.join().result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.heartbeat(member) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(world.coordinator.timers) == 0


def test_a_new_group_that_cannot_be_noted_is_forgotten() -> None:
    world = World(initial_rebalance_delay_ms=1000)
    world.log.is_held, world.log.fail_with = True, ErrorCode.NOT_ENOUGH_REPLICAS
    joined = world.join(version=3)
    world.log.release()
    assert joined.result.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "g" not in world.coordinator.store.groups
    world.clock.advance(100_000)
