"""A controller's requests for many partitions yield to the loop, and check their assumptions again then."""

from __future__ import annotations

import asyncio

import pytest
from world import until

from kafkastore.errors import ErrorCode
from kafkastore.interbroker.orders import EPOCH_DURING_DELETE, StoppedReplica
from kafkastore.purgatory import turns
from kafkastore.replica.assigned import TopicStates

from .replica_world import CONTROLLER_EPOCH, ME, NONE, OTHER, Replicas, state

COUNT = 20


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice of work ends as soon as it begins."""
    monkeypatch.setattr(turns, "TURN_S", -1.0)
    monkeypatch.setattr(turns, "AT_ONCE", 1)


def many(leader: int = ME) -> list[TopicStates]:
    return [TopicStates(f"t{number}", bytes([number + 1]) * 16, {0: state(leader, 0, 0)}) for number in range(COUNT)]


async def until_some_are_led(replicas: Replicas) -> None:
    await until(lambda: len(replicas.engine.history) >= 3, pause_s=0.0)


async def test_broker_that_loses_its_session_refuses_the_rest_of_a_request_under_way(replicas: Replicas) -> None:
    becoming = asyncio.ensure_future(replicas.become(*many()))
    await until_some_are_led(replicas)
    assert not becoming.done()
    replicas.assigned.broker_epoch = -1
    replicas.assigned.resign()
    led_then = len(replicas.engine.history)
    assert await becoming == (ErrorCode.BROKER_NOT_AVAILABLE, {})
    assert len(replicas.engine.history) == led_then
    assert not replicas.assigned.leads_anything()
    replicas.assigned.broker_epoch = 101  # the broker has registered again, and gets all states again
    code, errors = await replicas.become(*many(), broker_epoch=101)
    assert (code, set(errors.values())) == (NONE, {NONE})
    assert all(replicas.manager.is_leader(f"t{number}", 0) for number in range(COUNT))


async def test_stop_replica_under_way_ends_when_the_broker_registers_again(replicas: Replicas) -> None:
    await replicas.become(*many())
    replicas.engine.made.clear()
    stopped = [StoppedReplica(f"t{number}", 0, EPOCH_DURING_DELETE, True) for number in range(COUNT)]
    stopping = asyncio.ensure_future(replicas.stop(*stopped))
    await until_some_are_led(replicas)
    replicas.assigned.broker_epoch = 101
    assert await stopping == (ErrorCode.STALE_BROKER_EPOCH, {})
    assert replicas.engine.deleted == []


async def test_full_update_gives_way_to_the_loop_and_is_complete_at_its_end(replicas: Replicas) -> None:
    updating = asyncio.ensure_future(replicas.update(*many(OTHER), is_full=True))
    passes = 0
    while not updating.done():
        await asyncio.sleep(0)
        passes += 1
    assert passes > COUNT
    assert updating.result() == NONE
    assert len(replicas.image.topics) == COUNT


async def test_full_update_keeps_topics_named_without_states_and_removes_the_others(replicas: Replicas) -> None:
    await replicas.update(*many(OTHER))
    names = [one._replace(states={}) for one in many()[1:]]
    assert await replicas.update(*names, controller_epoch=CONTROLLER_EPOCH, is_full=True) == NONE
    assert sorted(replicas.image.topics) == sorted(one.name for one in names)
    assert all(topic.partitions == [state(OTHER, 0, 0)] for topic in replicas.image.topics.values())
    assert "t0" not in replicas.held.topics
