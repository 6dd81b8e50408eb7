"""No request places a replica on a removed broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkastore.config.removed import REMOVED_KEY, parse_removed
from kafkastore.controller.settings import ControllerSettings
from kafkastore.errors import ConfigError, InvalidReplicaAssignmentError, InvalidReplicationFactorError
from kafkastore.metadata.admin_nodes import REASSIGN_PARTITIONS, encode_reassignments
from kafkastore.metadata.nodes import config_notice, encode_config
from kafkastore.metadata.store import NoNodeError
from kafkastore.topic.new_topic import Growth, NewTopic
from unit.controller.controller_world import play
from unit.controller.test_invalid_nodes import make

if TYPE_CHECKING:
    from pathlib import Path

    from unit.controller.controller_world import World

DEFAULTS = "/config/brokers/<default>"
NOT_ON_3 = "broker 3, which was removed"


async def remove(world: World, *nodes: int) -> None:
    """Removes the brokers as IncrementalAlterConfigs of any broker does; returns when the controller knows it."""
    await world.store.ensure_path(DEFAULTS)
    await world.store.set(DEFAULTS, encode_config({REMOVED_KEY: ",".join(map(str, nodes))}))
    await world.store.multi([config_notice("brokers", "<default>")])
    controller = await world.active()
    await world.eventually(
        lambda: controller._term is not None and controller._term.settings.removed_brokers == set(nodes)
    )


def test_nothing_is_placed_until_the_broker_is_added_again(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world, "t", 1, 2)
        controller = await world.active()
        await remove(world, 3)
        for name, factor in (("a", 1), ("b", 2)):
            topic = await controller.create_topic(NewTopic(name, 6, factor))
            assert {node for one in topic.partitions for node in one.replicas} == {1, 2}
        with pytest.raises(InvalidReplicationFactorError):
            await controller.create_topic(NewTopic("c", 1, 3))
        with pytest.raises(InvalidReplicaAssignmentError, match=NOT_ON_3):
            await controller.create_topic(NewTopic.placed("c", [(1, 3)]))
        (refused,) = await controller.create_partitions([Growth("t", 2, [(3, 1)])])
        assert NOT_ON_3 in str(refused)
        assert await controller.create_partitions([Growth("t", 4)]) == [None]
        assert controller._term is not None
        assert {node for one in controller._term.context.topics["t"].partitions for node in one.replicas} == {1, 2}
        outcomes = await controller.alter_reassignments({("t", 0): (1, 3)})
        assert NOT_ON_3 in str(outcomes["t", 0])
        await remove(world)
        topic = await controller.create_topic(NewTopic("d", 6, 2))
        assert 3 in {node for one in topic.partitions for node in one.replicas}

    play(tmp_path, test)


def test_removed_broker_may_keep_its_replicas_and_gets_none_by_the_reassignment_node(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test(world: World) -> None:
        await make(world, "t", 3, 1)
        await make(world, "u", 1, 2)
        await remove(world, 3)
        controller = await world.active()
        assert await controller.alter_reassignments({("t", 0): (1, 3)}) == {("t", 0): None}  # another order
        await world.store.create(REASSIGN_PARTITIONS, encode_reassignments({("u", 0): (2, 3)}))

        async def is_settled() -> bool:
            try:
                await world.store.get(REASSIGN_PARTITIONS)
            except NoNodeError:
                return True
            return False

        await world.eventually(is_settled)
        assert await controller.reassignments() == {}

    play(tmp_path, test)
    assert NOT_ON_3 in caplog.text


def test_next_controller_knows_the_removed_brokers(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await remove(world, 3)
        await world.brokers[1].kill()
        controller = await world.active()

        async def is_made() -> bool:
            topic = await controller.create_topic(NewTopic("t", 4, 1))
            return {node for one in topic.partitions for node in one.replicas} == {2}

        await world.eventually(lambda: controller._term is not None and len(controller._term.context.brokers) == 2)
        assert await is_made()

    play(tmp_path, test, settings=ControllerSettings(is_auto_rebalance_enabled=False))


@pytest.mark.parametrize("text", ["x", "1,-2", "1;2", "4294967296"])
def test_invalid_list_of_removed_brokers_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no broker id"):
        parse_removed(text)
    assert parse_removed(" 4, 5,") == {4, 5}
