"""Committed offsets: commit, fetch, delete, expiry, deletion of groups. Codes were compared with Apache Kafka 4.3."""

from __future__ import annotations

import pytest

from kafkastore.errors import ErrorCode
from unit.coordinator.group_world import TOPIC_ID, World

DAY_MS = 24 * 60 * 60 * 1000
LONG_MS = 2**31 - 1  # 24 days
T0 = ("t", 0)
U0 = ("u", 0)  # no member of these groups subscribes to it


def codes(answer: object) -> set[int]:
    assert isinstance(answer, list)
    return {code for _, rows in answer for _, code in rows}


# ---- commit


def test_a_simple_consumer_commits_and_fetches() -> None:
    world = World()  # spec: R4.8
    assert world.commit({T0: 5, ("t", 2): 6, U0: 7}, metadata="m").result == [("t", [(0, 0), (2, 0)]), ("u", [(0, 0)])]
    assert world.fetched() == {T0: 5, ("t", 2): 6, U0: 7}
    result = world.fetch("g", [("t", None, [0, 1]), ("zz", None, [3])])
    assert result == (0, [("t", [(0, 5, -1, "m", 0), (1, -1, -1, "", 0)]), ("zz", [(3, -1, -1, "", 0)])])
    assert world.state() == "Empty"
    assert world.fetch("none", None) == (0, [])


def test_a_member_commits_for_its_generation() -> None:
    world = World()
    (member,) = world.stable_group()
    assert codes(world.commit({T0: 5}, member).result) == {0}
    assert codes(world.commit({T0: 6}, member._replace(generation_id=3)).result) == {ErrorCode.ILLEGAL_GENERATION}
    assert codes(world.commit({T0: 6}, member._replace(member_id="zz")).result) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert codes(world.commit({T0: 6}, member, group_instance_id="i").result) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert codes(world.commit({T0: 6}).result) == {ErrorCode.UNKNOWN_MEMBER_ID}
    assert world.fetched() == {T0: 5}


def test_a_commit_before_the_assignment_is_told_to_wait() -> None:
    world = World()
    joined = world.new_member()
    world.clock.advance(0)
    assert codes(world.commit({T0: 5}, joined.result).result) == {ErrorCode.REBALANCE_IN_PROGRESS}


def test_a_commit_while_others_rejoin_is_taken_and_keeps_the_session() -> None:
    world = World()
    one, two = world.stable_group(2)
    world.join(one.member_id)
    world.clock.advance(9_000)
    assert codes(world.commit({T0: 5}, two).result) == {0}
    world.clock.advance(9_000)
    assert two.member_id in world.group().members


@pytest.mark.parametrize(
    ("version", "error_code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_a_commit_with_a_generation_to_a_group_that_is_not_there(version: int, error_code: int) -> None:
    world = World()
    answer = world.commit({T0: 5}, version=version, generation_id=3, member_id="m").result
    assert codes(answer) == {error_code}
    assert not world.coordinator.store.groups


def test_an_empty_group_takes_commits_without_a_generation_from_anybody() -> None:
    world = World()
    (member,) = world.stable_group()
    world.leave(member.member_id)
    assert codes(world.commit({T0: 5}, member_id="zz").result) == {0}
    assert codes(world.commit({T0: 6}, group_instance_id="i").result) == {0}
    assert codes(world.commit({T0: 7}, generation_id=0).result) == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_metadata_that_is_too_large_is_refused_for_its_partition_alone() -> None:
    world = World(offset_metadata_max_bytes=4)
    assert codes(world.commit({T0: 5}, metadata="12345").result) == {ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert not world.coordinator.store.groups  # nothing was committed, so there is no group
    assert codes(world.commit({T0: 5}, metadata="1234").result) == {0}
    assert codes(world.commit({T0: 5}, metadata="𝄞𝄞").result) == {0}
    assert codes(world.commit({T0: 5}, metadata="𝄞𝄞.").result) == {ErrorCode.OFFSET_METADATA_TOO_LARGE}


def test_an_offset_shows_only_when_it_is_durable() -> None:
    world = World()
    world.log.is_held = True
    call = world.commit({T0: 5})
    assert not call.is_answered
    assert world.fetched() == {}
    world.log.release()
    assert codes(call.result) == {0}
    assert world.fetched() == {T0: 5}


@pytest.mark.parametrize(
    ("append_error", "answer"),
    [
        (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
        (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
        (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_PRODUCER_EPOCH),
    ],
)
def test_a_failed_append_changes_nothing_and_is_told_as_kafka_does(append_error: int, answer: int) -> None:
    world = World()
    world.commit({T0: 5})
    world.log.fail_with = append_error
    assert codes(world.commit({T0: 6}).result) == {answer}
    assert codes(world.commit({T0: 6}, group_id="other").result) == {answer}
    assert world.fetched() == {T0: 5}
    assert list(world.coordinator.store.groups) == ["g"]


def test_commits_survive_a_restart_the_last_one_wins() -> None:
    world = World()
    for offset in range(10):
        world.commit({T0: offset})
    world.commit({U0: 3}, retention_time_ms=DAY_MS)
    after = world.restarted()
    assert after.fetched() == {T0: 9, U0: 3}
    assert after.group().offsets["t"] == world.group().offsets["t"]
    assert after.group().offsets["t"][0].topic_id == TOPIC_ID


def test_an_offset_of_an_earlier_topic_of_the_name_is_not_told() -> None:
    world = World()
    world.commit({T0: 5})
    for topic_id, offset in ((None, 5), (TOPIC_ID, 5), (b"\1" * 16, -1)):
        assert world.fetch("g", [("t", topic_id, [0])]).topics[0][1][0].offset == offset


def test_fetches_of_a_partition_that_is_not_ours_are_refused() -> None:
    world = World()
    world.coordinator.on_resignation(world.partition_of("g"))
    assert world.fetch("g", None) == (ErrorCode.NOT_COORDINATOR, [])
    assert codes(world.commit({T0: 5}).result) == {ErrorCode.NOT_COORDINATOR}


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


def test_a_deletion_that_cannot_be_written_keeps_the_group() -> None:
    world = World()
    world.commit({T0: 5})
    world.log.fail_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.delete_groups("g").result == {"g": ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.fetched() == {T0: 5}


@pytest.mark.parametrize("is_commit_first", [True, False])
def test_a_commit_beside_a_deletion_ends_as_the_log_says(is_commit_first: bool) -> None:
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
    world.commit({T0: 5}, retention_time_ms=DAY_MS)
    world.commit({U0: 6}, retention_time_ms=30 * DAY_MS)
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


def test_many_tombstones_go_in_batches_below_the_limit_of_a_message() -> None:
    world = World()
    world.commit({("topic-" + "x" * 200, partition): 1 for partition in range(5000)})
    batches: list[int] = []
    append = world.log.append
    world.log.append = lambda partition, records, done: (
        batches.append(len(records)),
        append(partition, records, done),
    )[1]  # type: ignore[assignment,func-returns-value]
    assert world.delete_groups("g").result == {"g": 0}
    assert len(batches) > 1
    assert sum(batches) == 5001
    assert not world.coordinator.store.groups


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
