"""A controller's decisions reach every broker, also a broker that cannot apply them at once
(docs/internals/cluster.md)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.controller.channels import _Waiting
from kafkastore.controller.context import ControllerContext, Partition, Topic
from kafkastore.controller.requests import RequestBuilder
from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.orders import EPOCH_DURING_DELETE
from kafkastore.metadata.assignment import Assigned
from kafkastore.metadata.broker_nodes import Registration
from kafkastore.metadata.leadership import Leadership
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, World, play

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_SERVER_ERROR]
"""The broker could not reach the store; the broker has a bug."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("api", [LEADER_AND_ISR, UPDATE_METADATA])
def test_request_that_failed_as_a_whole_is_repeated(tmp_path: Path, api: int, fault: int) -> None:
    async def test(world: World) -> None:
        broker = world.brokers[2]
        broker.faults[api] = fault
        await (await world.active()).create_topic(NewTopic.placed("t", ((2, 3),)))
        await world.led("t", 2)
        await world.eventually(lambda: ("t", 0) in broker.metadata)
        assert broker.faults == {}

    play(tmp_path, test)


@pytest.mark.parametrize("fault", FAULTS)
def test_deletion_that_failed_as_a_whole_is_repeated(tmp_path: Path, fault: int) -> None:
    async def test(world: World) -> None:
        controller = await world.active()
        await controller.create_topic(NewTopic.placed("t", ((2, 3),)))
        await world.led("t", 2)
        world.brokers[2].faults[STOP_REPLICA] = fault
        await controller.delete_topic("t")
        await world.eventually(lambda: all(("t", 0) in world.brokers[node].deleted for node in (2, 3)))

    play(tmp_path, test)


def test_controller_that_a_broker_knows_to_be_old_is_not_repeated(tmp_path: Path) -> None:  # H19
    async def test(world: World) -> None:
        broker = world.brokers[2]
        broker.faults[LEADER_AND_ISR] = ErrorCode.STALE_CONTROLLER_EPOCH
        count = broker.count(LEADER_AND_ISR)
        await (await world.active()).create_topic(NewTopic.placed("t", ((2,),)))
        await world.eventually(lambda: broker.count(LEADER_AND_ISR) > count)
        await world.quiet()
        assert broker.count(LEADER_AND_ISR) == count + 1

    play(tmp_path, test)


def test_replica_that_a_move_took_goes_by_its_epoch_even_if_the_topic_goes_too() -> None:
    """A removed replica may be deleted before its broker is notified that the topic is deleted; the brokers of the
    other replicas are notified first."""
    topic = Topic("t", b"t" * 16, [Assigned((4, 2), (), (1,))])
    topic.partitions[0].leadership = Leadership(4, 7, (4, 2))
    topic.is_deleting = True
    builder = RequestBuilder(ControllerContext(), 3, 1, None)
    epochs = [
        builder.stop_replica(broker(node_id), {topic.partitions[0]: True}).stopped[0].leader_epoch for node_id in (1, 2)
    ]
    assert epochs == [7, EPOCH_DURING_DELETE]


def waiting(*, of: str) -> tuple[_Waiting, Partition]:
    """A pending request of one partition: "LeaderAndIsr" or "StopReplica"."""
    partition = Topic("t", b"t" * 16, [Assigned((1, 2))]).partitions[0]
    found = _Waiting()
    if of == "LeaderAndIsr":
        found.add_leaders([partition], is_new=True)
    else:
        found.add_stops([partition], is_deleted=True)
    return found, partition


@pytest.mark.parametrize(("older", "newer"), [("LeaderAndIsr", "StopReplica"), ("StopReplica", "LeaderAndIsr")])
def test_older_order_that_was_not_sent_does_not_cancel_the_newer_one(older: str, newer: str) -> None:
    waits, partition = waiting(of=newer)
    late = _Waiting()
    if older == "LeaderAndIsr":
        late.add_leaders([partition], is_new=True)
    else:
        late.add_stops([partition], is_deleted=True)
    waits.add_older(late)
    assert (list(waits.leader_and_isr), list(waits.stop)) == (
        ([], [partition]) if newer == "StopReplica" else ([partition], [])
    )


def test_wait_sent_ends_when_the_broker_has_been_sent_the_changes(tmp_path: Path) -> None:  # item 7
    async def test(world: World) -> None:
        controller = await world.active()
        assert controller._term is not None
        client: Any = controller._term.channels._channels[3]._client
        send, failed = client.send, []

        async def noting(order: Any, timeout_ms: int) -> Any:
            try:
                return await send(order, timeout_ms)
            except KafkastoreError:
                failed.append(order)
                raise

        client.send = noting
        world.brokers[3].is_reachable = False
        await controller.create_topic(NewTopic.placed("t", ((1, 2),)))
        told = asyncio.ensure_future(controller.wait_sent(3, 60.0))
        await controller.wait_sent(2, 60.0)
        assert ("t", 0) in world.brokers[2].metadata
        await controller.wait_sent(9, 60.0)  # there is no broker 9
        await controller.wait_sent(3, 0.01)  # the time is too short
        count = len(failed)
        await world.eventually(lambda: len(failed) > count + 1)
        assert not told.done()
        world.brokers[3].is_reachable = True
        await asyncio.wait_for(told, 30.0)  # by the request, not by its own limit
        assert ("t", 0) in world.brokers[3].metadata

    play(tmp_path, test)


def broker(node_id: int) -> Registration:
    return Registration(node_id, node_id, (), None)
