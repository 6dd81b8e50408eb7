"""StopReplica: replicas that are stopped or deleted, and that an old request cannot bring back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.errors import ErrorCode
from kafkastore.interbroker.orders import EPOCH_DURING_DELETE, LEADER_DURING_DELETE, Stopped

from .replica_world import CONTROLLER_EPOCH, ME, NONE, OTHER, T_ID, Replicas, on_replicas, state, told

if TYPE_CHECKING:
    from pathlib import Path

    from kafkastore.replica.assigned import TopicStates

KEY = ("t", 0)
GONE = Stopped("t", 0, EPOCH_DURING_DELETE, is_deleted=True)


def test_stopped_replica_serves_no_more_and_keeps_its_log(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        name = "__consumer_offsets"
        await replicas.become(told(state(ME, 3, 3), state(ME, 3, 3), name=name))
        await replicas.update(told(state(ME, 3, 3), state(ME, 3, 3), name=name))
        led = []
        replicas.manager.listen(name, lambda number, _: led.append(number), led.remove)
        assert await replicas.stop(Stopped(name, 0, 3, is_deleted=False)) == (NONE, {(name, 0): NONE})
        assert (replicas.lease(name), replicas.lease(name, partition=1)) == ((-1, 3, 3), (ME, 3, 3))
        assert (led, replicas.engine.deleted) == ([1], [])
        assert (name, 0) in replicas.engine.partitions

    on_replicas(tmp_path, test)


@pytest.mark.parametrize("is_deleted", [False, True])
def test_stop_in_an_older_leader_epoch_is_fenced(tmp_path: Path, is_deleted: bool) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        replicas.engine.history.clear()
        assert await replicas.stop(Stopped("t", 0, 2, is_deleted)) == (NONE, {KEY: ErrorCode.FENCED_LEADER_EPOCH})
        assert (replicas.engine.history, replicas.engine.deleted) == ([], [])
        assert replicas.manager.is_leader("t", 0)

    on_replicas(tmp_path, test)


def test_deleted_log_leaves_its_place_free(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3), state(OTHER, 3, 3)))
        replicas.engine.calls.clear()
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        assert replicas.engine.calls == ["delete_logs t [0]", "note_deletions"]
        assert replicas.logs.directory_of("t", 0) is None
        assert replicas.logs.directory_of("t", 1) is not None
        assert set(replicas.engine.partitions) == {("t", 1)}

    on_replicas(tmp_path, test)


@pytest.mark.parametrize("fault", ["refuses_deletion", "refuses_notes"])
def test_failed_deletion_is_an_error_and_finished_by_the_next_stop_replica(tmp_path: Path, fault: str) -> None:
    """After a crash the next start would miss a log whose deletion is not durable."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        setattr(replicas.engine, fault, True)
        assert await replicas.stop(GONE) == (NONE, {KEY: ErrorCode.KAFKA_STORAGE_ERROR})
        setattr(replicas.engine, fault, False)
        replicas.engine.calls.clear()
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        assert replicas.engine.calls == ["delete_logs t [0]", "note_deletions"]
        assert replicas.logs.directory_of("t", 0) is None

    on_replicas(tmp_path, test)


@pytest.mark.parametrize("is_told_gone", [False, True])
def test_deletion_in_an_offline_directory_is_answered_with_an_error(tmp_path: Path, is_told_gone: bool) -> None:
    """The files come back with the disk. Controllers send UpdateMetadata for a deletion before StopReplica."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        await replicas.update(told(state(ME, 3, 3)), is_full=True)
        if is_told_gone:
            await replicas.update(is_full=True)
        failed = replicas.logs.directory_of("t", 0)
        assert failed is not None
        replicas.manager.take_offline(replicas.logs.fail(failed, "I/O error"))
        assert await replicas.stop(GONE) == (NONE, {KEY: ErrorCode.KAFKA_STORAGE_ERROR})
        assert replicas.engine.deleted == []

    on_replicas(tmp_path, test)


def test_log_that_no_leader_and_isr_has_named_is_deleted_all_the_same(tmp_path: Path) -> None:
    """The broker started while its topic was being deleted."""

    async def test(replicas: Replicas) -> None:
        replicas.engine.add_log("t", 0, b"\1" * 16, "/one")
        replicas.logs.record("t", 0, "/one")
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        assert replicas.engine.deleted == [("t", [0])]

    on_replicas(tmp_path, test)


def test_deletion_of_a_partition_without_a_log_succeeds_at_once(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        assert await replicas.stop(GONE, Stopped("u", 3, 7, is_deleted=False)) == (NONE, {KEY: NONE, ("u", 3): NONE})
        assert replicas.engine.history == []

    on_replicas(tmp_path, test)


def test_one_partition_that_is_fenced_does_not_keep_the_others(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3), state(ME, 1, 1)))
        code, errors = await replicas.stop(Stopped("t", 0, 2, is_deleted=True), Stopped("t", 1, 2, is_deleted=True))
        assert (code, errors) == (NONE, {KEY: ErrorCode.FENCED_LEADER_EPOCH, ("t", 1): NONE})
        assert replicas.engine.deleted == [("t", [1])]

    on_replicas(tmp_path, test)


def test_replica_that_was_moved_away_is_not_brought_back_by_an_older_state(tmp_path: Path) -> None:
    """The replica's log is gone: as the leader of the earlier epoch it would serve an empty log."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 5, 8)))
        await replicas.update(told(state(ME, 5, 8)))
        await replicas.stop(Stopped("t", 0, 6, is_deleted=True))
        assert await replicas.become(told(state(ME, 5, 8))) == (NONE, {KEY: ErrorCode.STALE_CONTROLLER_EPOCH})
        assert replicas.engine.partitions == {}
        assert await replicas.become(told(state(OTHER, 6, 9))) == (NONE, {KEY: NONE})
        assert replicas.lease() == (OTHER, 6, 9)

    on_replicas(tmp_path, test)


# ---- requests that come late: their controller has given up, sent them again and gone on
def deleted(topic_id: bytes = T_ID) -> TopicStates:
    return told(state(LEADER_DURING_DELETE, EPOCH_DURING_DELETE), topic_id=topic_id)


def test_late_request_does_not_bring_back_a_topic_that_is_deleted(tmp_path: Path) -> None:  # KIP-516
    """Whether the broker had the partition's log before or not."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        await replicas.update(deleted())
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        late = told(state(ME, 3, 3), state(ME, 0, 0))
        assert await replicas.become(late) == (
            NONE,
            {KEY: ErrorCode.UNKNOWN_TOPIC_ID, ("t", 1): ErrorCode.UNKNOWN_TOPIC_ID},
        )
        await replicas.update(late)
        assert (set(replicas.engine.partitions), replicas.image.topic("t")) == (set(), None)

    on_replicas(tmp_path, test)


def test_late_deletion_does_not_reach_the_next_topic_of_the_name(tmp_path: Path) -> None:  # KIP-516
    """StopReplica has no topic id."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        await replicas.update(deleted())
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        again = bytes(15) + b"\7"
        await replicas.become(told(state(ME), topic_id=again))
        assert await replicas.stop(GONE) == (NONE, {KEY: ErrorCode.INCONSISTENT_TOPIC_ID})
        assert (replicas.lease(), set(replicas.engine.partitions)) == ((ME, 0, 0), {KEY})
        await replicas.update(deleted(again))
        assert await replicas.stop(GONE) == (NONE, {KEY: NONE})
        assert set(replicas.engine.partitions) == set()

    on_replicas(tmp_path, test)


def test_request_that_a_later_one_has_overtaken_is_refused(tmp_path: Path) -> None:
    """A copy that was long under way: of StopReplica it would delete the log of the topic's successor of the same name,
    of a full UpdateMetadata it would take away a topic that was created since."""

    async def test(replicas: Replicas) -> None:
        again = bytes(15) + b"\7"
        await replicas.become(told(state(ME, 3, 3)), number=1)
        await replicas.update(deleted(), number=2)
        assert await replicas.stop(GONE, number=3) == (NONE, {KEY: NONE})
        await replicas.become(told(state(ME), topic_id=again), number=4)
        await replicas.update(told(state(ME), topic_id=again), number=5)
        stale = ErrorCode.STALE_CONTROLLER_EPOCH
        assert await replicas.stop(GONE, number=3) == (stale, {})
        assert await replicas.update(is_full=True, number=4) == stale
        assert await replicas.become(told(state(OTHER, 1, 1), topic_id=again), number=4) == (stale, {})
        assert (replicas.lease(), set(replicas.engine.partitions)) == ((ME, 0, 0), {KEY})
        assert replicas.image.topic("t") is not None
        following = CONTROLLER_EPOCH + 1
        assert await replicas.update(is_full=True, number=1, controller_epoch=following) == NONE, "the next controller"
        assert replicas.image.topic("t") is None

    on_replicas(tmp_path, test)


def test_late_deletion_does_not_reach_a_replica_that_came_back(tmp_path: Path) -> None:
    """A partition that moved away and back: a replica is added without a new leader epoch, and removed with one."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 3, 3)))
        away = Stopped("t", 0, 4, is_deleted=True)
        assert await replicas.stop(away) == (NONE, {KEY: NONE})
        assert await replicas.stop(away) == (NONE, {KEY: NONE})  # its answer was lost
        await replicas.become(told(state(OTHER, 4, 6)))
        assert await replicas.stop(away) == (NONE, {KEY: ErrorCode.FENCED_LEADER_EPOCH})
        assert set(replicas.engine.partitions) == {KEY}
        assert await replicas.stop(away._replace(leader_epoch=5)) == (NONE, {KEY: NONE})
        assert set(replicas.engine.partitions) == set()

    on_replicas(tmp_path, test)


def test_leader_and_isr_older_than_a_stop_replica_is_refused(tmp_path: Path) -> None:  # KIP-455
    """A move that was cancelled at once."""

    async def test(replicas: Replicas) -> None:
        await replicas.update(told(state(OTHER, 4, 4)))
        assert await replicas.stop(Stopped("t", 0, 4, is_deleted=True)) == (NONE, {KEY: NONE})
        assert await replicas.become(told(state(OTHER, 3, 3))) == (NONE, {KEY: ErrorCode.STALE_CONTROLLER_EPOCH})
        assert set(replicas.engine.partitions) == set()
        assert await replicas.become(told(state(OTHER, 4, 5))) == (NONE, {KEY: NONE})
        assert set(replicas.engine.partitions) == {KEY}

    on_replicas(tmp_path, test)
