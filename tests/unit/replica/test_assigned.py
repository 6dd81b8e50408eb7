"""LeaderAndIsr: which requests a broker accepts, and what it does then (H4, H19). A refused request
changes nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.orders import EPOCH_DURING_DELETE, Stopped

from .replica_world import (
    BROKER_EPOCH,
    CONTROLLER_EPOCH,
    ME,
    NEW_ID,
    NONE,
    OTHER,
    THIRD,
    Replicas,
    on_replicas,
    state,
    told,
)

if TYPE_CHECKING:
    from pathlib import Path

KEY = ("t", 0)
OFFSETS = "__consumer_offsets"


def test_new_replica_gets_a_log_its_configuration_and_a_lease(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        replicas.stored_configs["t"] = {"retention.ms": "-1"}
        assert await replicas.become(told(state(ME, 3, 7), state(OTHER, 1, 2))) == (NONE, {KEY: NONE, ("t", 1): NONE})
        assert set(replicas.engine.partitions) == {("t", 0), ("t", 1)}
        assert replicas.engine.topic_configs["t"]["retention.ms"] == "-1"
        assert (replicas.lease(), replicas.lease(partition=1)) == ((ME, 3, 7), (OTHER, 1, 2))
        assert replicas.manager.is_leader("t", 0)
        assert not replicas.manager.is_leader("t", 1)

    on_replicas(tmp_path, test)


@pytest.mark.parametrize(
    ("fence", "code"),
    [
        ({"controller_epoch": CONTROLLER_EPOCH - 1}, ErrorCode.STALE_CONTROLLER_EPOCH),
        ({"broker_epoch": BROKER_EPOCH - 1}, ErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_requests_of_an_old_controller_or_with_a_stale_broker_epoch_have_no_effect(
    tmp_path: Path, fence: dict[str, int], code: int
) -> None:  # H19
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(OTHER, 1, 1)))
        await replicas.update(told(state(OTHER, 1, 1)))
        replicas.engine.history.clear()
        replicas.engine.clusters = 0
        before = replicas.image.brokers
        new = told(state(ME, 9, 9), state(ME, 0, 0))
        assert await replicas.become(new, **fence) == (code, {})
        assert await replicas.stop(Stopped("t", 0, EPOCH_DURING_DELETE, True), **fence) == (code, {})
        assert await replicas.update(new, **fence, brokers=(ME,), is_full=True) == code
        assert (replicas.engine.history, replicas.engine.deleted, replicas.engine.clusters) == ([], [], 0)
        assert set(replicas.engine.partitions) == {KEY}
        assert replicas.held.topics["t"].partitions == replicas.image.topics["t"].partitions == [state(OTHER, 1, 1)]
        assert replicas.image.brokers is before
        assert replicas.image.controller_epoch == CONTROLLER_EPOCH

    on_replicas(tmp_path, test)


def test_each_request_of_a_newer_controller_fences_the_older_one(tmp_path: Path) -> None:  # H19
    async def test(replicas: Replicas) -> None:
        await replicas.become(controller_epoch=6)
        assert (await replicas.stop(controller_epoch=5))[0] == ErrorCode.STALE_CONTROLLER_EPOCH
        await replicas.stop(controller_epoch=7)
        assert await replicas.update(controller_epoch=6) == ErrorCode.STALE_CONTROLLER_EPOCH
        await replicas.update(controller_epoch=8)
        assert (await replicas.become(controller_epoch=7))[0] == ErrorCode.STALE_CONTROLLER_EPOCH

    on_replicas(tmp_path, test)


def test_request_with_a_stale_broker_epoch_does_not_make_its_controller_known(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(controller_epoch=9, broker_epoch=BROKER_EPOCH - 1)
        assert (await replicas.become(controller_epoch=CONTROLLER_EPOCH))[0] == NONE

    on_replicas(tmp_path, test)


def test_unregistered_broker_refuses_requests_that_may_be_for_its_earlier_incarnation(tmp_path: Path) -> None:
    """H8: a broker that is back before its session has ended would lead again with the records that a power loss left.
    It refuses with an error after which the controller repeats the request."""

    async def test(replicas: Replicas) -> None:
        replicas.assigned.broker_epoch = -1
        new = told(state(ME, 9, 9))
        assert await replicas.become(new) == (ErrorCode.BROKER_NOT_AVAILABLE, {})
        assert await replicas.stop(Stopped("t", 0, EPOCH_DURING_DELETE, True)) == (ErrorCode.BROKER_NOT_AVAILABLE, {})
        assert await replicas.update(new, is_full=True) == ErrorCode.BROKER_NOT_AVAILABLE
        assert (replicas.engine.history, replicas.held.topics, replicas.image.topics) == ([], {}, {})
        replicas.assigned.broker_epoch = BROKER_EPOCH
        assert await replicas.become(new) == (NONE, {KEY: NONE})
        assert replicas.lease() == (ME, 9, 9)

    on_replicas(tmp_path, test)


@pytest.mark.parametrize("stale", [state(ME, 2, 9), state(ME, 3, 4), state(OTHER, 0, 0)])
def test_stale_leader_and_isr_between_two_newer_ones_is_refused(tmp_path: Path, stale: object) -> None:  # H4
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(OTHER, 3, 5)))
        answer = await replicas.become(told(stale))  # type: ignore[arg-type]
        assert answer == (NONE, {KEY: ErrorCode.STALE_CONTROLLER_EPOCH})
        assert replicas.held.partition("t", 0) == state(OTHER, 3, 5)
        assert await replicas.become(told(state(OTHER, 3, 6, isr=(OTHER, THIRD)))) == (NONE, {KEY: NONE})
        assert replicas.engine.history == [("t", 0, OTHER, 3, 5), ("t", 0, OTHER, 3, 6)]

    on_replicas(tmp_path, test)


def test_stale_partition_does_not_hold_up_the_others_of_its_request(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(OTHER, 3, 5), state(OTHER, 0, 0)))
        code, errors = await replicas.become(told(state(ME, 2, 4), state(ME, 1, 1)))
        assert (code, errors) == (NONE, {KEY: ErrorCode.STALE_CONTROLLER_EPOCH, ("t", 1): NONE})
        assert (replicas.lease(), replicas.lease(partition=1)) == ((OTHER, 3, 5), (ME, 1, 1))

    on_replicas(tmp_path, test)


def test_repeated_leader_and_isr_is_accepted(tmp_path: Path) -> None:
    """The first answer may have been lost; and a newer partition epoch in the same leader epoch is a change of the
    in-sync set."""

    async def test(replicas: Replicas) -> None:
        for partition_epoch in (1, 1, 2):
            assert await replicas.become(told(state(ME, 1, partition_epoch))) == (NONE, {KEY: NONE})
            assert replicas.lease() == (ME, 1, partition_epoch)
        assert len(replicas.engine.partitions) == 1

    on_replicas(tmp_path, test)


def test_partition_of_other_brokers_is_refused_and_gets_no_log(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        code, errors = await replicas.become(told(state(OTHER, replicas=(OTHER, THIRD)), state(OTHER)))
        assert (code, errors) == (NONE, {KEY: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ("t", 1): NONE})
        assert set(replicas.engine.partitions) == {("t", 1)}
        assert replicas.lease() is None

    on_replicas(tmp_path, test)


def test_topic_with_another_id_never_gets_the_log_of_the_hosted_topic(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 4, 4)))
        again = told(state(ME, 9, 9), topic_id=NEW_ID)
        assert await replicas.become(again) == (NONE, {KEY: ErrorCode.INCONSISTENT_TOPIC_ID})
        assert (replicas.lease(), replicas.engine.partitions[KEY].topic_id) == ((ME, 4, 4), b"\1" * 16)
        await replicas.stop(Stopped("t", 0, EPOCH_DURING_DELETE, True))
        assert await replicas.become(told(state(ME, 0, 0), topic_id=NEW_ID)) == (NONE, {KEY: NONE})  # epochs begin anew
        assert (replicas.lease(), replicas.engine.partitions[KEY].topic_id) == ((ME, 0, 0), NEW_ID)

    on_replicas(tmp_path, test)


def test_topic_with_another_id_is_refused_although_metadata_has_dropped_the_old_topic(tmp_path: Path) -> None:
    """A controller sends UpdateMetadata for a deletion before StopReplica."""

    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 4, 4)))
        await replicas.update(told(state(ME, 4, 4)), is_full=True)
        await replicas.update(is_full=True)
        _, errors = await replicas.become(told(state(ME), topic_id=NEW_ID))
        assert errors == {KEY: ErrorCode.INCONSISTENT_TOPIC_ID}
        await replicas.stop(Stopped("t", 0, EPOCH_DURING_DELETE, True))
        assert replicas.held.topic("t") is None
        assert await replicas.become(told(state(ME), topic_id=NEW_ID)) == (NONE, {KEY: NONE})

    on_replicas(tmp_path, test)


# ---- C: offline
def test_replica_in_an_offline_directory_is_answered_with_an_error_and_not_led(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        await replicas.become(told(state(ME, 1, 1), state(ME, 1, 1), name=OFFSETS))
        await replicas.update(told(state(ME, 1, 1), state(ME, 1, 1), name=OFFSETS))
        led: list[int] = []
        replicas.manager.listen(OFFSETS, lambda number, _: led.append(number), led.remove)
        failed = replicas.logs.directory_of(OFFSETS, 0)
        assert failed is not None
        replicas.manager.take_offline(replicas.logs.fail(failed, "I/O error"))
        for partition_epoch in (1, 2):  # the same state again, or a newer one: the replica stays offline
            both = state(ME, 1, partition_epoch), state(ME, 1, partition_epoch)
            _, errors = await replicas.become(told(*both, name=OFFSETS))
            assert errors == {(OFFSETS, 0): ErrorCode.KAFKA_STORAGE_ERROR, (OFFSETS, 1): NONE}
            assert replicas.lease(OFFSETS) == (-1, 1, partition_epoch)
            assert (replicas.lease(OFFSETS, partition=1), led) == ((ME, 1, partition_epoch), [1])
            assert not replicas.manager.is_leader(OFFSETS, 0)

    on_replicas(tmp_path, test)


def test_missing_log_is_not_created_while_a_directory_is_offline(tmp_path: Path) -> None:
    """The log may be in that directory, with all acknowledged records."""

    async def test(replicas: Replicas) -> None:
        replicas.logs.fail("/one", "not mounted")
        assert await replicas.become(told(state(ME, 4, 4))) == (NONE, {KEY: ErrorCode.KAFKA_STORAGE_ERROR})
        assert replicas.engine.partitions == {}
        assert not replicas.manager.is_leader("t", 0)

    on_replicas(tmp_path, test)


def test_log_of_a_new_replica_is_made_in_a_directory_that_works(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        failed, *_ = replicas.logs.online
        replicas.logs.fail(failed, "not mounted")
        asked = told(state(ME, 0, 0), state(ME, 0, 0), new=frozenset((1,)))
        _, errors = await replicas.become(asked)
        assert errors == {KEY: ErrorCode.KAFKA_STORAGE_ERROR, ("t", 1): NONE}
        assert replicas.logs.directory_of("t", 1) == replicas.logs.online[0]
        while replicas.logs.online:
            replicas.logs.fail(replicas.logs.online[0], "not mounted")
        asked = told(state(ME, 0, 0), name="later", topic_id=b"\7" * 16, new=frozenset((0,)))
        assert await replicas.become(asked) == (NONE, {("later", 0): ErrorCode.KAFKA_STORAGE_ERROR})

    on_replicas(tmp_path, test)


def test_failed_creation_of_a_log_is_answered_with_an_error_and_retried(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        replicas.engine.create_failures[KEY] = "no space left on device"
        _, errors = await replicas.become(told(state(ME, 1, 1), state(ME, 1, 1)))
        assert errors == {KEY: ErrorCode.KAFKA_STORAGE_ERROR, ("t", 1): NONE}
        assert not replicas.manager.is_leader("t", 0)
        assert replicas.lease() == (-1, 1, 1)
        replicas.engine.create_failures.clear()
        assert await replicas.become(told(state(OTHER, 2, 2))) == (NONE, {KEY: NONE})
        assert KEY in replicas.engine.partitions
        assert replicas.lease() == (OTHER, 2, 2)

    on_replicas(tmp_path, test)


# ---- the store, the order
def test_store_that_is_away_leaves_all_as_it_was_and_the_configuration_is_not_lost(tmp_path: Path) -> None:
    """A log created without its ``retention.ms`` would delete records that must be kept."""

    async def test(replicas: Replicas) -> None:
        replicas.stored_configs["t"] = {"retention.ms": "-1"}
        replicas.is_store_away = True
        with pytest.raises(KafkastoreError):
            await replicas.become(told(state(ME, 1, 1)))
        assert (replicas.held.topic("t"), replicas.engine.partitions, replicas.engine.history) == (None, {}, [])
        replicas.is_store_away = False
        assert await replicas.become(told(state(ME, 1, 1))) == (NONE, {KEY: NONE})
        assert replicas.engine.topic_configs["t"]["retention.ms"] == "-1"
        assert replicas.held.topics["t"].configs == {"retention.ms": "-1"}

    on_replicas(tmp_path, test)


def test_coordinator_that_begins_while_logs_are_made_gets_partitions_when_they_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first request of a group, while its topic is created. Before it is published, a group that has joined would
    find no partition for its offsets: NOT_COORDINATOR, after which librdkafka asks for them never again."""

    async def test(replicas: Replicas) -> None:
        name, led, make, gate = OFFSETS, list[Any](), replicas.logs.make_logs, asyncio.Event()

        async def make_late(wanted: Any) -> Any:
            await gate.wait()
            return await make(wanted)

        monkeypatch.setattr(replicas.logs, "make_logs", make_late)
        request = asyncio.ensure_future(replicas.become(told(state(ME, 3, 7), state(OTHER, 1, 2), name=name)))
        await asyncio.sleep(0)
        assert replicas.held.topic(name) is not None
        replicas.manager.listen(name, lambda number, epoch: led.append((number, epoch)), led.remove)
        replicas.manager.start_when_led("__transaction_state", lambda: led.append("started"))
        assert led == []
        gate.set()
        assert (await request)[0] == NONE
        assert led == []
        await replicas.update(told(state(ME, 3, 7), state(OTHER, 1, 2), name=name))
        assert led == [(0, 3)]
        await replicas.become(told(state(ME, 4, 8), name=name))
        assert led == [(0, 3), (0, 4)]

    on_replicas(tmp_path, test)


def test_requests_take_effect_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    """The first request waits for the store; later requests must not overtake it."""

    async def test(replicas: Replicas) -> None:
        replicas.gate = asyncio.Event()
        requests = [
            asyncio.ensure_future(replicas.become(told(state(ME, 1, 1)))),
            asyncio.ensure_future(replicas.update(told(state(ME, 1, 1)), is_full=True)),
            asyncio.ensure_future(replicas.stop(Stopped("t", 0, 2, False))),
            asyncio.ensure_future(replicas.update(is_full=True)),
        ]
        await asyncio.sleep(0)
        assert replicas.engine.history == []
        replicas.gate.set()
        await asyncio.gather(*requests)
        assert [entry[2] for entry in replicas.engine.history] == [ME, -1]
        assert replicas.image.topics == {}

    on_replicas(tmp_path, test)


def test_waiting_ends_with_what_is_waited_for_or_with_its_limit(tmp_path: Path) -> None:
    async def test(replicas: Replicas) -> None:
        assert not await replicas.assigned.wait_for_metadata(0)
        waiting = asyncio.ensure_future(replicas.assigned.wait_for_metadata(60))
        await replicas.update(told(state(ME)), is_full=False)
        await asyncio.sleep(0)
        assert not waiting.done()
        await replicas.update(is_full=True)
        await asyncio.sleep(0)
        assert waiting.done()  # at once, not at its limit
        assert waiting.result()

    on_replicas(tmp_path, test)
