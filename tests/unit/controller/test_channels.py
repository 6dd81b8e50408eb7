"""What a controller has decided reaches every broker, also one that cannot take it on at once (spec R2.4; docs/cluster.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from kio.schema.errors import ErrorCode

from kafkastore.controller.topic_changes import NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, World, play

if TYPE_CHECKING:
    from pathlib import Path

FAULTS = [ErrorCode.request_timed_out, ErrorCode.unknown_server_error]
"""The broker's way to the store was away; it has a bug."""


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("api", [LEADER_AND_ISR, UPDATE_METADATA])
def test_request_that_failed_as_a_whole_is_repeated(tmp_path: Path, api: int, fault: ErrorCode) -> None:
    async def test(world: World) -> None:
        broker = world.brokers[2]
        broker.faults[api] = fault
        await (await world.active()).create_topic(NewTopic("t", assignment=((2, 3),)))
        await world.led("t", 2)
        await world.eventually(lambda: ("t", 0) in broker.metadata)
        assert broker.faults == {}

    play(tmp_path, test)


@pytest.mark.parametrize("fault", FAULTS)
def test_deletion_that_failed_as_a_whole_is_repeated(tmp_path: Path, fault: ErrorCode) -> None:
    async def test(world: World) -> None:
        controller = await world.active()
        await controller.create_topic(NewTopic("t", assignment=((2, 3),)))
        await world.led("t", 2)
        world.brokers[2].faults[STOP_REPLICA] = fault
        await controller.delete_topic("t")
        await world.eventually(lambda: all(("t", 0) in world.brokers[node].deleted for node in (2, 3)))

    play(tmp_path, test)


def test_controller_that_a_broker_knows_to_be_old_is_not_repeated(tmp_path: Path) -> None:  # H19
    async def test(world: World) -> None:
        broker = world.brokers[2]
        broker.faults[LEADER_AND_ISR] = ErrorCode.stale_controller_epoch
        count = broker.count(LEADER_AND_ISR)
        await (await world.active()).create_topic(NewTopic("t", assignment=((2,),)))
        await world.eventually(lambda: broker.count(LEADER_AND_ISR) > count)
        await world.quiet()
        assert broker.count(LEADER_AND_ISR) == count + 1

    play(tmp_path, test)
