"""Deletion of topics: every replica first, the store last, and through failures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.controller import topic_deletion
from kafkastore.controller.context import Topic
from kafkastore.errors import ErrorCode, TopicAlreadyExistsError, UnknownTopicOrPartitionError
from kafkastore.interbroker.orders import Answer, Stopped, StopReplica
from kafkastore.metadata.store import Delete
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import LIMIT_S, STOP_REPLICA, World, WorldBroker, play

if TYPE_CHECKING:
    from pathlib import Path

ASSIGNMENT = ((2, 3), (3, 2))


async def make(world: World) -> None:
    await (await world.active()).create_topic(NewTopic.placed("t", ASSIGNMENT, configs={"retention.ms": "1"}))
    await world.led("t", 3, 1)
    await world.led("t", 2, 0)


async def is_gone(world: World) -> bool:
    paths = ("/brokers/topics/t", "/config/topics/t", "/admin/delete_topics/t")
    return [await world.store.exists(path) for path in paths] == [None, None, None]


def test_deleted_topic_goes_from_brokers_clients_and_the_store(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        controller = await world.active()
        await controller.delete_topic("t")
        await world.eventually(lambda: is_gone(world))
        assert sorted(world.brokers[2].deleted) == sorted(world.brokers[3].deleted) == [("t", 0), ("t", 1)]
        assert world.brokers[1].deleted == []
        await world.eventually(lambda: world.brokers[1].metadata["t", 0].leader == -2)
        with pytest.raises(UnknownTopicOrPartitionError):
            await controller.delete_topic("t")
        await make(world)  # the name is free again

    play(tmp_path, test)


def test_topics_of_one_request_go_in_two_writes_and_each_has_its_own_error(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        controller = await world.active()
        await controller.create_topics([NewTopic.placed(name, ASSIGNMENT) for name in ("t", "u", "v")])
        writes = world.count_writes(1)
        found = await controller.delete_topics(["t", "none", "u"])
        assert isinstance(found[1], UnknownTopicOrPartitionError)
        topics = [one for one in found if isinstance(one, Topic)]
        assert await controller.wait_deleted(topics, LIMIT_S) == []
        assert len(writes) in (2, 3)  # the decision, and the end, which may come in two parts, one for each broker
        assert await world.store.get_children("/brokers/topics") == ["v"]

    play(tmp_path, test)


def test_replicas_that_are_away_or_cannot_be_deleted_are_not_waited_for(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        controller = await world.active()
        world.brokers[3].refuses_deletion = True
        topic = await controller.delete_topic("t")
        assert await controller.wait_deleted([topic], LIMIT_S) == [topic]
        await world.brokers[3].kill()
        await world.eventually(lambda: 3 not in world.brokers[1].live)
        assert await controller.wait_deleted([topic], LIMIT_S) == []

    play(tmp_path, test)


def test_broker_that_does_not_answer_is_waited_for_no_longer_than_the_limit(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        controller = await world.active()
        world.brokers[3].is_reachable = False
        topic = await controller.delete_topic("t")
        assert await controller.wait_deleted([topic], 0) == []
        assert not await is_gone(world)
        world.brokers[3].is_reachable = True
        assert await controller.wait_deleted([topic], LIMIT_S) == []
        assert await is_gone(world)

    play(tmp_path, test)


def test_topic_marked_in_the_store_is_deleted(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        await world.store.create("/admin/delete_topics/t")
        await world.store.create("/admin/delete_topics/never")
        await world.eventually(lambda: is_gone(world))

        async def is_unmarked() -> bool:
            return await world.store.get_children("/admin/delete_topics") == []

        await world.eventually(is_unmarked)

    play(tmp_path, test)


def test_note_on_an_older_topic_of_the_name_deletes_nothing(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        await world.store.create("/admin/delete_topics/t", bytes(16))
        await world.store.create("/admin/delete_topics/older", bytes(16))
        await world.brokers[1].kill()
        assert (await world.active()).epoch == 2
        await world.quiet()
        assert await world.store.get_children("/admin/delete_topics") == ["older", "t"]
        assert (await world.led("t", 2)).leader_epoch == 0

    play(tmp_path, test)


def test_replica_that_is_away_is_deleted_when_it_is_back(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        await world.brokers[3].kill()
        await world.led("t", 2, 1)
        controller = await world.active()
        await controller.delete_topic("t")
        await world.eventually(lambda: len(world.brokers[2].deleted) == 2)
        await world.quiet()
        assert not await is_gone(world)
        with pytest.raises(TopicAlreadyExistsError):  # the new topic would find the old topic's log
            await controller.create_topic(NewTopic.placed("t", ASSIGNMENT))
        await world.add(3)
        await world.eventually(lambda: is_gone(world))
        assert len(world.brokers[3].deleted) == 2

    play(tmp_path, test)


def test_answer_of_an_earlier_incarnation_does_not_hold_up_the_deletion(tmp_path: Path) -> None:
    """A broker that is back at once refuses requests for its earlier life; the controller may see first that the broker
    is back."""

    async def test(world: World) -> None:
        await make(world)
        controller = await world.active()
        assert controller._term is not None
        earlier = controller._term.context.brokers[3]
        await world.brokers[3].kill()
        await world.led("t", 2, 1)
        await controller.delete_topic("t")
        back = world.brokers[3] = WorldBroker(world, 3)
        back.is_reachable = False
        await back.start(clean=True, controls=False)
        await world.eventually(lambda: 3 in world.brokers[1].live)
        await world.quiet()
        order = StopReplica(1, 1, earlier.epoch, [Stopped("t", number, -2, True) for number in (0, 1)])
        refused = Answer(ErrorCode.STALE_BROKER_EPOCH, {})
        await topic_deletion.on_stop_replica_answer(controller._term, earlier, order, refused)
        back.is_reachable = True
        await world.eventually(lambda: is_gone(world))
        assert len(back.deleted) == 2

    play(tmp_path, test)


def test_deletion_goes_on_under_the_next_controller(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        world.brokers[3].is_reachable = False
        await (await world.active()).delete_topic("t")
        await world.eventually(lambda: len(world.brokers[2].deleted) == 2)
        await world.brokers[1].kill()
        world.brokers[3].is_reachable = True
        await world.eventually(lambda: is_gone(world))
        assert (await world.active()).epoch == 2

    play(tmp_path, test)


def test_half_deleted_topic_is_not_elected_by_the_next_controller(tmp_path: Path) -> None:
    """The controller died between the batches of a large deletion."""

    async def test(world: World) -> None:
        await make(world)
        world.brokers[2].is_reachable = world.brokers[3].is_reachable = False
        await (await world.active()).delete_topic("t")
        await world.store.delete("/brokers/topics/t/partitions/0/state")
        await world.brokers[1].kill()
        world.brokers[2].is_reachable = world.brokers[3].is_reachable = True
        await world.eventually(lambda: is_gone(world))
        assert len(world.brokers[2].deleted) >= 2

    play(tmp_path, test)


def test_mark_of_a_deletion_is_the_last_of_its_topics_nodes_that_goes(tmp_path: Path) -> None:
    """A large deletion is several writes, and the controller may die between any two of them."""

    async def test(world: World) -> None:
        await make(world)
        store = world.brokers[1].store
        multi, deleted = store.multi, []

        async def watching(operations: Any) -> Any:
            deleted.extend(one.path for one in operations if isinstance(one, Delete))
            return await multi(operations)

        store.multi = watching  # type: ignore[method-assign]
        await (await world.active()).delete_topic("t")
        await world.eventually(lambda: is_gone(world))
        assert deleted[-1] == "/admin/delete_topics/t"
        assert {"/brokers/topics/t", "/config/topics/t"} < set(deleted)

    play(tmp_path, test)


def test_nodes_that_others_added_or_took_away_do_not_keep_a_topic(tmp_path: Path) -> None:
    """The controller deletes the nodes that it knows, and lists them only when that fails."""

    async def test(world: World) -> None:
        await make(world)
        world.brokers[2].is_reachable = world.brokers[3].is_reachable = False
        await (await world.active()).delete_topic("t")
        await world.store.create("/brokers/topics/t/partitions/0/note", b"of another tool")
        await world.store.delete("/config/topics/t")
        world.brokers[2].is_reachable = world.brokers[3].is_reachable = True
        await world.eventually(lambda: is_gone(world))
        await make(world)  # the name is free again

    play(tmp_path, test)


def test_replica_that_cannot_be_deleted_keeps_the_mark_until_its_broker_restarts(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        await make(world)
        world.brokers[3].refuses_deletion = True
        await (await world.active()).delete_topic("t")
        await world.eventually(lambda: world.brokers[3].count(STOP_REPLICA) == 1)
        await world.quiet()
        assert not await is_gone(world)
        await world.brokers[3].kill()
        await world.add(3)
        await world.eventually(lambda: is_gone(world))

    play(tmp_path, test)
