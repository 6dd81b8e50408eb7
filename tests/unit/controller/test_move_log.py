"""State changes of partitions and replicas are logged, one line for each event."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from kafkastore.controller.move_log import NAMED, MoveLog
from kafkastore.controller.states import PartitionStatus, ReplicaState
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import World, play

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LOGGER = "kafkastore.controller.states"


def test_many_moves_are_counted_and_some_are_named() -> None:
    log = MoveLog()
    assert log.take() == ""
    for number in range(NAMED + 7):
        log.note("partitions", PartitionStatus.ONLINE, PartitionStatus.OFFLINE, "t", number)
    log.note("replicas", ReplicaState.ONLINE, ReplicaState.OFFLINE, "t", 0, 3)
    first, second = log.take().split("; ")
    assert first.startswith(f"{NAMED + 7} partitions ")
    assert first.endswith("(t-0, t-1, t-2, t-3, t-4 and 7 more)")
    assert second.endswith("(t-0 on 3)")
    assert log.take() == ""


def test_broker_that_dies_costs_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World) -> None:
        await (await world.active()).create_topic(NewTopic.placed("t", [(3, 2, 1)] * 40))
        await world.led("t", 3)
        await world.quiet()
        caplog.clear()
        await world.brokers[3].kill()
        await world.led("t", 2, 39)
        await world.quiet()
        lines = [record.getMessage() for record in caplog.records if record.name == LOGGER]
        (line,) = [line for line in lines if "40 replicas" in line]
        assert line.count("t-") <= 2 * NAMED

    with caplog.at_level(logging.INFO, LOGGER):
        play(tmp_path, test)


def test_controller_that_takes_over_logs_no_moves_of_unchanged_partitions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World) -> None:
        await (await world.active()).create_topic(NewTopic.placed("t", [(3, 2)] * 40))
        await world.led("t", 3)
        caplog.clear()
        await world.brokers[1].kill()
        await world.quiet()
        assert (await world.active()).node_id != 1
        assert not [record for record in caplog.records if record.name == LOGGER]

    with caplog.at_level(logging.INFO, LOGGER):
        play(tmp_path, test)
