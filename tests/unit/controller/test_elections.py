"""Requested elections, controlled shutdown, failed log directories (KIP-460, KIP-841, KIP-112)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafkastore.controller.settings import ControllerSettings
from kafkastore.errors import BrokerNotAvailableError, ErrorCode, StaleBrokerEpochError
from kafkastore.metadata.nodes import config_notice, encode_config
from kafkastore.metadata.store import SetData
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import STOP_REPLICA, World, lose_directory, playing

ONE = ControllerSettings(min_insync_replicas=1, is_auto_rebalance_enabled=False)


async def make(world: World, *assignment: Sequence[int]) -> None:
    await (await world.active()).create_topic(NewTopic.placed("t", assignment))
    for number, replicas in enumerate(assignment):
        await world.led("t", replicas[0], number)


async def test_broker_that_shuts_down_hands_over_and_stops_following(tmp_path: Path) -> None:  # KIP-841
    async with playing(tmp_path, settings=ONE) as world:
        await make(world, (3, 2), (2, 3), (3,))
        controller = await world.active()
        assert await controller.controlled_shutdown(3, world.epoch_of(3)) == []
        state = await world.led("t", 2)
        assert (state.leader_epoch, state.isr) == (1, (2,))
        assert (await world.state("t", 1)).isr == (2,)
        assert (await world.state("t", 2)).leader == 3  # there is no other replica
        await world.eventually(lambda: world.brokers[3].count(STOP_REPLICA) == 1)
        assert world.brokers[3].deleted == []


async def test_controlled_shutdown_answers_partitions_without_another_leader_as_remaining(world: World) -> None:
    await make(world, (3, 2))
    await world.brokers[2].kill()
    await world.eventually(lambda: world.brokers[3].told["t", 0].isr == (3,))
    controller = await world.active()
    assert await controller.controlled_shutdown(3, world.epoch_of(3)) == [("t", 0)]
    assert (await world.state("t")).leader == 3


async def test_controlled_shutdown_of_a_stale_broker_epoch_or_an_unknown_broker_is_refused(
    world: World,
) -> None:  # KIP-380
    controller = await world.active()
    with pytest.raises(StaleBrokerEpochError):
        await controller.controlled_shutdown(3, world.epoch_of(3) - 1)
    with pytest.raises(BrokerNotAvailableError):
        await controller.controlled_shutdown(9, 1)


async def test_new_topics_do_not_go_to_a_broker_that_shuts_down(world: World) -> None:
    controller = await world.active()
    await controller.controlled_shutdown(3, world.epoch_of(3))
    await controller.create_topic(NewTopic("u", partitions=4, replication_factor=2))
    assert {(await world.state("u", number)).leader for number in range(4)} == {1, 2}


async def test_preferred_and_unclean_elections_are_answered_for_each_partition(tmp_path: Path) -> None:  # KIP-460
    async with playing(tmp_path, settings=ONE) as world:
        await make(world, (3, 2), (2, 3), (3, 2))
        controller = await world.active()
        await world.brokers[3].kill()
        await world.led("t", 2)
        asked = [("t", 0), ("t", 1), ("t", 7), ("u", 0)]
        assert await controller.elect_leaders(asked) == {
            ("t", 0): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            ("t", 1): ErrorCode.ELECTION_NOT_NEEDED,
            ("t", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ("u", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        await world.add(3)
        await world.brokers[2].kill()
        await world.led("t", -1)
        assert await controller.elect_leaders([("t", 0)], is_unclean=True) == {("t", 0): ErrorCode.NONE}
        state = await world.led("t", 3)
        assert (state.isr, state.is_recovering) == ((3,), True)
        found = await controller.elect_leaders(None, is_unclean=True)
        assert found == {("t", 1): ErrorCode.NONE, ("t", 2): ErrorCode.NONE}


async def test_replica_in_a_failed_log_directory_is_not_elected(tmp_path: Path) -> None:  # KIP-460, KIP-112
    settings = ControllerSettings(min_insync_replicas=1, is_auto_rebalance_enabled=True, imbalance_check_interval_s=60)
    async with playing(tmp_path, settings=settings) as world:
        await make(world, (3,))
        controller = await world.active()
        await lose_directory(world.brokers[3], ("t", 0))
        before = await world.led("t", -1)
        assert before.isr == (3,)
        for is_unclean, code in (
            (True, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
            (False, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        ):
            assert await controller.elect_leaders([("t", 0)], is_unclean=is_unclean) == {("t", 0): code}
        controller._on_timer()  # the periodic rebalance
        await world.quiet()
        assert await world.state("t") == before


async def test_topic_that_is_being_deleted_is_not_elected_for(world: World) -> None:  # KIP-460
    await make(world, (3, 2))
    controller = await world.active()
    world.brokers[2].refuses_deletion = True
    await controller.delete_topic("t")
    for is_unclean in (False, True):
        outcomes = await controller.elect_leaders([("t", 0)], is_unclean=is_unclean)
        assert outcomes == {("t", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert await controller.elect_leaders(None, is_unclean=is_unclean) == {}


async def test_partition_that_never_had_a_leader_has_no_eligible_leader(world: World) -> None:  # KIP-460
    controller = await world.active()
    await make(world, (2,))
    await world.brokers[3].kill()
    await world.eventually(lambda: world.brokers[1].live == [1, 2])
    node = await world.store.get("/brokers/topics/t")
    content = json.loads(node.data)
    content["partitions"]["1"] = [3]
    await world.store.set("/brokers/topics/t", json.dumps(content).encode())
    await world.brokers[1].kill()  # the next controller reads it
    controller = await world.active()
    both = [("t", 0), ("t", 1)]
    assert await controller.elect_leaders(both, is_unclean=True) == {
        ("t", 0): ErrorCode.ELECTION_NOT_NEEDED,
        ("t", 1): ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    }
    assert await controller.elect_leaders([("t", 1)]) == {("t", 1): ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


async def test_preferred_election_moves_the_leader_back(world: World) -> None:
    await make(world, (3, 2))
    controller = await world.active()
    path = "/brokers/topics/t/partitions/0/state"
    data = (await world.store.get(path)).data.replace(b'"leader":3', b'"leader":2')
    await world.store.set(path, data)
    await world.brokers[1].kill()
    controller = await world.active()
    await world.led("t", 2)
    assert await controller.elect_leaders(None) == {("t", 0): ErrorCode.NONE}
    assert (await world.led("t", 3)).leader_epoch == 1


async def test_log_directory_that_fails_costs_its_leaderships(tmp_path: Path) -> None:  # KIP-112, H27
    async with playing(tmp_path, settings=ONE) as world:
        await make(world, (3, 2), (3, 2), (3,))
        broker = world.brokers[3]
        await lose_directory(broker, ("t", 0), ("t", 2))
        state = await world.led("t", 2)
        assert (state.leader_epoch, state.isr) == (1, (2,))
        assert (await world.state("t", 1)).leader == 3
        assert (await world.led("t", -1, 2)).isr == (3,)
        await world.eventually(lambda: world.brokers[1].metadata["t", 0].offline_replicas == (3,))

        async def is_taken() -> bool:
            return await world.store.get_children("/log_dir_event_notification") == []

        await world.eventually(is_taken)
        await broker.kill()  # with the disk repaired
        await world.add(3)
        await world.eventually(lambda: world.brokers[1].metadata["t", 0].offline_replicas == ())
        assert (await world.led("t", 3, 2)).isr == (3,)


async def configure_brokers(world: World, changed: dict[str, str], node: str = "<default>") -> None:
    """Writes the configuration of one broker or of all brokers, as the broker that gets the request does."""
    path = f"/config/brokers/{node}"
    await world.store.ensure_path(path)
    await world.store.multi([SetData(path, encode_config(changed)), config_notice("brokers", node)])


@pytest.mark.parametrize("node", ["<default>", "2"])
async def test_minimum_lowered_for_all_topics_ends_the_trust_in_eligible_replicas(
    world: World, node: str
) -> None:  # KIP-966, KIP-226
    """From then on the leader commits records that the eligible replicas do not have."""
    await make(world, (2, 3))
    await world.brokers[3].kill()
    await world.led("t", 2)
    await world.eventually(lambda: world.brokers[2].told["t", 0].elr == (3,))
    await configure_brokers(world, {"min.insync.replicas": "1"}, node)
    await world.brokers[2].kill()
    await world.led("t", -1)
    await world.add(3)
    await world.eventually(lambda: 3 in world.brokers[1].live)
    assert (await world.state("t")).leader == -1  # the committed records are on broker 2
    await world.add(2)
    assert (await world.led("t", 2)).isr == (2,)


async def test_unclean_elections_that_are_allowed_for_all_topics_are_held(world: World) -> None:  # KIP-226
    await make(world, (2, 3))
    controller = await world.active()
    await controller.set_topic_configs({"t": {"min.insync.replicas": "1"}})
    await world.brokers[3].kill()
    await world.eventually(lambda: world.brokers[2].told["t", 0].isr == (2,))
    await world.brokers[2].kill()
    await world.led("t", -1)
    await world.add(3)
    await world.eventually(lambda: 3 in world.brokers[1].live)
    assert (await world.state("t")).leader == -1
    await configure_brokers(world, {"unclean.leader.election.enable": "true"})
    assert (await world.led("t", 3)).is_recovering


async def test_lone_member_that_restarts_uncleanly_under_a_lowered_minimum_keeps_the_partition(
    world: World,
) -> None:  # KIP-966, KIP-226, H7
    """No other replica has the records that it committed alone."""
    await make(world, (2, 3))
    await world.brokers[3].kill()
    await world.led("t", 2)
    await world.eventually(lambda: world.brokers[2].told["t", 0].elr == (3,))
    await configure_brokers(world, {"min.insync.replicas": "1"})
    await world.brokers[2].kill()
    await world.add(3, controls=False)
    await world.add(2, clean=False)
    await world.eventually(lambda: world.brokers[1].live == [1, 2, 3])
    state = await world.led("t", 2)
    assert (state.isr, state.elr) == ((2,), ())
