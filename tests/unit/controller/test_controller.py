"""Several controllers on one store: which one is active, and its decisions when brokers come and go
(docs/internals/cluster.md)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkastore.controller import broker_changes, campaign
from kafkastore.controller.context import ControllerContext
from kafkastore.controller.settings import ControllerSettings
from kafkastore.controller.term import Term
from kafkastore.errors import (
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    NotControllerError,
    TopicAlreadyExistsError,
)
from kafkastore.metadata.broker_nodes import decode_registration
from kafkastore.metadata.leadership import Leadership, encode_leadership
from kafkastore.metadata.nodes import encode_controller
from kafkastore.metadata.sqlite import SqliteStore
from kafkastore.metadata.store import Check, Operation, StoreUnavailableError
from kafkastore.metadata.stored_topics import StoredTopics
from kafkastore.topic.new_topic import NewPartitions, NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, World, WorldBroker, playing

THREE = ((1, 2, 3),)


async def make(world: World, name: str = "t", assignment: tuple[tuple[int, ...], ...] = THREE) -> None:
    await (await world.active()).create_topic(NewTopic.placed(name, assignment))


async def set_state(world: World, state: Leadership, topic: str = "t") -> None:
    """Writes the state as an earlier controller left it."""
    epoch = int((await world.store.get("/controller_epoch")).data)
    await world.store.set(f"/brokers/topics/{topic}/partitions/0/state", encode_leadership(state, epoch))


def leaders_told(broker: WorldBroker) -> set[int]:
    """All leaders that the broker's LeaderAndIsr requests have named."""
    return {
        state.leader
        for request in broker.requests
        if request.api_key == LEADER_AND_ISR
        for topic in request.message.topic_states
        for state in topic.partition_states
    }


async def test_exactly_one_of_three_controllers_acts(world: World) -> None:
    controllers = [one.controller for one in world.brokers.values() if one.controller is not None]
    assert [one.is_active for one in controllers] == [True, False, False]
    await world.eventually(lambda: all(one.controller_id == 1 for one in controllers))
    assert controllers[0].epoch == 1
    for other in controllers[1:]:
        assert other.epoch == 0
        with pytest.raises(NotControllerError):
            await other.create_topic(NewTopic("t"))


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (NewTopic.placed("t", [(1, 99)]), InvalidReplicaAssignmentError),
        (NewTopic.placed("t", [(1, 2), (1, 1)]), InvalidReplicaAssignmentError),
        (NewTopic("t", 1, 4), InvalidReplicationFactorError),
    ],
    ids=["unknown broker", "a broker twice", "more replicas than brokers"],
)
async def test_topic_that_cannot_be_placed_is_refused_and_nothing_is_written(
    world: World, asked: NewTopic, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await (await world.active()).create_topic(asked)
    assert await world.store.exists("/brokers/topics/t") is None
    assert await world.store.exists("/config/topics/t") is None


async def test_new_topic_is_sent_to_its_replicas_and_its_metadata_to_all(world: World) -> None:
    await make(world, assignment=((2, 3), (3, 1)))
    state = await world.led("t", 2)
    assert state == Leadership(2, 0, (2, 3), controller_epoch=1)
    assert world.brokers[2].told["t", 0].is_new
    assert ("t", 0) not in world.brokers[1].told
    await world.eventually(lambda: all(("t", 1) in one.metadata for one in world.brokers.values()))
    assert world.brokers[1].metadata["t", 0].replicas == (2, 3)
    with pytest.raises(TopicAlreadyExistsError):
        await make(world)


async def test_dead_leader_is_followed_by_the_next_in_sync_replica(world: World) -> None:
    await make(world, assignment=((3, 2, 1),))
    await world.led("t", 3)
    await world.brokers[3].kill()
    state = await world.led("t", 2)
    assert (state.leader_epoch, state.isr) == (1, (2, 1))
    await world.eventually(lambda: world.brokers[1].metadata["t", 0].leader == 2)
    assert world.brokers[1].metadata["t", 0].offline_replicas == (3,)
    assert world.brokers[1].live == [1, 2]


class Overtaken(SqliteStore):
    """A store in which another writer writes right before this broker's next write."""

    def __init__(self, path: str, overtake: Callable[[], Awaitable[Any]]) -> None:
        super().__init__(path)
        self._overtake: Callable[[], Awaitable[Any]] | None = overtake

    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        overtake, self._overtake = self._overtake, None
        if overtake is not None:
            await overtake()
        return await super().multi(operations)


@pytest.mark.parametrize("other", ["seat", "epoch"])
async def test_seat_and_epoch_are_taken_together_or_not_at_all(tmp_path: Path, other: str) -> None:
    """Another writer changes the seat or the epoch between the read and the write."""
    async with playing(tmp_path, brokers=()) as world:
        await world.store.create("/controller_epoch", b"7")
        await world.store.set("/controller_epoch", b"8")

        async def overtake() -> None:
            if other == "epoch":
                await world.store.set("/controller_epoch", b"9")
            else:
                await world.store.create("/controller", b"somebody")

        store = Overtaken(world.path, overtake)
        await store.connect()
        try:
            await campaign.run(store, StoredTopics(store), 1, 0)
        finally:
            seat = None if other == "seat" else await world.store.exists("/controller")
            await store.close()
        assert seat is None
        assert (await world.store.get("/controller_epoch")).data == (b"9" if other == "epoch" else b"8")


async def test_dead_controller_is_followed_and_its_partitions_too(world: World) -> None:
    await make(world)
    await world.led("t", 1)
    await world.brokers[1].kill()
    state = await world.led("t", 2)
    assert (state.controller_epoch, state.leader_epoch, state.isr) == (2, 1, (2, 3))
    assert (await world.active()).epoch == 2


async def test_absent_broker_is_fenced_before_its_session_expires(world: World) -> None:  # H1
    await make(world, assignment=((3, 2, 1),))
    await world.led("t", 3)
    world.brokers[3].is_reachable = False
    await (await world.active()).fence_broker(3)
    state = await world.led("t", 2)
    assert (state.leader_epoch, state.isr) == (1, (2, 1))
    assert await world.store.exists("/brokers/ids/3") is None
    await (await world.active()).fence_broker(3)  # once more, while the broker still looks absent
    assert world.brokers[2].store.session_id  # no other broker lost its session
    assert await world.store.exists("/brokers/ids/2") is not None


async def test_broker_that_has_registered_again_is_not_fenced(world: World) -> None:
    active = await world.active()
    before = active._term.context.brokers[3]  # type: ignore[union-attr]
    await world.brokers[3].kill()
    await world.add(3)
    brokers = active._term.context.brokers  # type: ignore[union-attr]
    await world.eventually(lambda: brokers.get(3) not in (None, before))
    brokers[3] = before  # as if the watch had not fired yet
    await active.fence_broker(3)
    assert await world.store.exists("/brokers/ids/3") is not None


async def test_absent_controller_is_deposed_and_its_successor_is_not(world: World) -> None:  # H19
    await make(world)
    await world.led("t", 1)
    first = world.brokers[1].controller
    assert first is not None
    await campaign.depose(world.store, 2)  # not the controller
    assert (await world.active()) is first
    world.brokers[1].controller = None
    worker = first._worker
    assert worker is not None
    worker.cancel()  # the controller hangs; its session lives
    await campaign.depose(world.store, 1)
    others = [world.brokers[number].controller for number in (2, 3)]
    await world.eventually(lambda: any(one.is_active for one in others))  # type: ignore[union-attr]
    await campaign.depose(world.store, 1)  # once more, too late
    assert json.loads((await world.store.get("/controller")).data)["brokerid"] in (2, 3)
    first._resign()


async def test_controller_that_is_elected_while_another_is_deposed_keeps_the_seat(tmp_path: Path) -> None:  # H19
    async with playing(tmp_path, brokers=()) as world:
        await world.store.create("/controller_epoch", b"1")
        await world.store.create("/controller", encode_controller(1, 0))

        async def overtake() -> None:
            await world.store.delete("/controller")
            await campaign.run(world.store, StoredTopics(world.store), 2, 0)

        store = Overtaken(world.path, overtake)
        await store.connect()
        try:
            await campaign.depose(store, 1)
        finally:
            await store.close()
        assert json.loads((await world.store.get("/controller")).data)["brokerid"] == 2


async def test_controller_that_stops_gives_the_seat_up_at_once(world: World) -> None:
    first = world.brokers[1].controller
    assert first is not None
    await first.stop()
    await world.eventually(lambda: not first.is_active)
    assert (await world.active()).node_id in (2, 3)
    world.brokers[1].controller = None


async def test_last_member_of_the_isr_keeps_the_partition_offline_until_it_is_back(world: World) -> None:  # H6
    await make(world, assignment=((3,), (3, 2)))
    await world.led("t", 3)
    await world.brokers[3].kill()
    assert (await world.led("t", -1)).isr == (3,)
    assert (await world.led("t", 2, 1)).isr == (2,)
    await world.add(3)
    state = await world.led("t", 3)
    assert (state.leader_epoch, state.isr) == (2, (3,))


async def test_eligible_replica_leads_when_no_in_sync_replica_is_alive(world: World) -> None:  # KIP-966, H7
    await make(world, assignment=((3, 2, 1),))
    await world.led("t", 3)
    await world.brokers[1].close()  # the controller stops too
    await world.eventually(lambda: world.brokers[3].told["t", 0].isr == (3, 2))
    await world.brokers[2].kill()
    await world.eventually(lambda: world.brokers[3].told["t", 0].elr == (2,))
    await world.brokers[3].kill()
    await world.add(1)
    await world.led("t", -1)
    await world.add(2)
    state = await world.led("t", 2)
    assert (state.isr, state.elr) == ((2,), (3,))


async def test_unclean_restart_leaves_the_sets_before_it_can_lead(world: World) -> None:  # H8
    await make(world, assignment=((3, 2, 1),))
    await world.led("t", 3)
    before = world.brokers[3]
    await before.kill()
    broker = await world.add(3, clean=False)  # at once: the followers may not have noticed the kill
    state = await world.led("t", 2)
    assert 3 not in {*state.isr, *state.elr}
    await world.eventually(lambda: ("t", 0) in broker.told)
    assert 3 not in leaders_told(broker)


async def test_unclean_restart_has_its_consequences_once(world: World) -> None:  # KIP-966
    """Otherwise every new controller would remove a broker that has caught up from the in-sync sets again."""
    await make(world, assignment=((2, 3),))
    await world.led("t", 2)
    await world.brokers[3].kill()
    await world.add(3, clean=False)
    await world.eventually(lambda: ("t", 0) in world.brokers[3].told)
    await set_state(world, Leadership(2, 0, (2, 3)))  # broker 3 has caught up
    await world.brokers[1].kill()
    await world.eventually(lambda: (world.brokers[3].highest_epoch, world.brokers[2].highest_epoch) == (2, 2))
    await world.quiet()
    assert (await world.state("t")).isr == (2, 3)


async def test_unclean_restart_is_not_settled_with_an_earlier_one(tmp_path: Path) -> None:  # H8
    """The broker restarts once more while the controller draws the consequences of its life before."""
    async with playing(tmp_path, brokers=(1, 2)) as world:

        async def is_clean(term: Term) -> bool:
            earlier = term.context.brokers[2]._replace(is_clean=False)
            await world.brokers[2].kill()
            later = await world.add(2, clean=False, controls=False)
            await broker_changes.settle_unclean(term, earlier)
            node = await world.store.get("/brokers/ids/2")
            assert node.created == later.epoch > earlier.epoch
            return decode_registration(2, node.data, node.created).is_clean

        active = await world.active()
        assert not await active._ask("settle", is_clean)


async def test_registration_that_is_renewed_keeps_the_broker_where_it_is(world: World) -> None:
    """A broker registers again in the same life when it knows its ports."""
    await make(world, assignment=((2, 3),))
    before = await world.led("t", 2)
    node = await world.store.get("/brokers/ids/2")
    await world.store.set("/brokers/ids/2", node.data.replace(b":9092", b":9192"))
    ports = lambda one: [broker.endpoints[0].port for broker in one.requests[-1].message.live_brokers]  # noqa: E731
    await world.eventually(
        lambda: world.brokers[3].requests[-1].api_key == 6 and ports(world.brokers[3]) == [9092, 9192, 9092]
    )
    assert await world.state("t") == before


async def test_last_member_that_restarts_uncleanly_leads_under_a_new_epoch(world: World) -> None:
    await make(world, assignment=((3,),))
    await world.led("t", 3)
    await world.brokers[3].kill()
    await world.led("t", -1)
    await world.add(3, clean=False)
    state = await world.led("t", 3)
    assert (state.leader_epoch, state.isr) == (2, (3,))


@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("is_seen_at_once", [True, False])
async def test_longest_log_leads_when_all_restarted_uncleanly(
    world: World, first: int, second: int, is_seen_at_once: bool
) -> None:  # H7
    """Broker 3 led alone and lost its power; 2 was killed while it was still in sync: it has all committed records."""
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    await world.brokers[1].kill()
    await world.brokers[2].close()
    await world.brokers[3].close()
    await set_state(world, Leadership(3, 0, (3,), (2,)))
    ends = {2: 100, 3: 70}
    await world.add(first, clean=False, log_end=ends[first], controls=not is_seen_at_once)
    if not is_seen_at_once:
        await world.quiet()
        assert (await world.state("t")).leader == -1
    await world.add(second, clean=False, log_end=ends[second])
    state = await world.led("t", 2)
    assert (state.isr[0], state.restarted) == (2, ())


async def test_new_controller_draws_the_consequences_of_an_unclean_restart(world: World) -> None:  # H8
    """The broker died and came back while there was no controller: in the store it still leads."""
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    await world.brokers[1].kill()
    await world.brokers[2].close()
    await world.brokers[3].close()
    await set_state(world, Leadership(3, 0, (3, 2)))
    broker = await world.add(3, clean=False, controls=False)
    await world.add(2)
    state = await world.led("t", 2)
    assert (state.leader_epoch, state.isr) == (1, (2,))
    await world.eventually(lambda: ("t", 0) in broker.told)
    assert leaders_told(broker) == {2}


async def test_broker_with_a_new_epoch_is_treated_as_dead_and_joined(world: World) -> None:  # KIP-380
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    epoch = world.epoch_of(3)
    await world.brokers[3].kill()
    broker = await world.add(3)
    assert broker.epoch > epoch
    state = await world.led("t", 2)
    assert state.isr == (2,)
    await world.eventually(lambda: ("t", 0) in broker.told)
    assert {request.message.broker_epoch for request in broker.requests} == {broker.epoch}


async def test_write_of_a_deposed_controller_fails_by_the_epoch(world: World) -> None:  # H19
    await make(world, assignment=((2, 3),))
    await world.led("t", 2)
    zombie = world.brokers[1].controller
    assert zombie is not None
    term = zombie._term
    assert term is not None
    # the other brokers elect a controller; this one still takes itself for the controller
    zombie._look_again = lambda: None  # type: ignore[method-assign]
    await world.store.delete("/controller")
    await world.eventually(lambda: any(one.controller and one.controller.epoch == 2 for one in world.brokers.values()))
    assert zombie.is_active
    with pytest.raises(NotControllerError):
        await zombie.create_topic(NewTopic("late"))
    await world.eventually(lambda: not zombie.is_active)
    assert term.is_over
    assert await world.store.exists("/brokers/topics/late") is None


async def test_messages_of_an_old_controller_are_refused_and_it_resigns(world: World) -> None:  # H19
    zombie = world.brokers[1].controller
    assert zombie is not None
    zombie._look_again = lambda: None  # type: ignore[method-assign]
    await world.store.delete("/controller")
    await world.eventually(lambda: world.brokers[3].highest_epoch == 2)
    assert zombie._term is not None
    await zombie._term.channels.tell_all()
    await world.eventually(lambda: not zombie.is_active)


async def test_expired_session_ends_the_term_and_a_new_one_may_begin(world: World) -> None:  # H19
    await make(world)
    await world.led("t", 1)
    sleeper = world.brokers[1]
    controller = sleeper.controller
    assert controller is not None
    sleeper.lose_session()
    await world.eventually(lambda: not controller.is_active)
    await world.led("t", 2)
    await world.eventually(lambda: sleeper.store.session_id == 0)
    await sleeper.store.connect()
    await world.eventually(lambda: controller.controller_id in (2, 3))
    for node_id in (2, 3):
        await world.brokers[node_id].kill()
    await world.eventually(lambda: controller.is_active)
    assert controller.epoch >= 3


async def test_expired_session_ends_the_term_by_itself(world: World) -> None:  # H19
    controller = world.brokers[1].controller
    assert controller is not None
    controller._look_again = lambda: None  # type: ignore[method-assign]  # it does not see that the seat is taken
    world.brokers[1].lose_session()
    await world.eventually(lambda: not controller.is_active)
    assert controller.controller_id in (-1, 2)  # none, or already the next controller


async def test_partitions_without_a_state_are_elected_by_the_next_controller(world: World) -> None:
    await make(world, assignment=((2, 3), (3, 2)))
    await world.led("t", 3, 1)
    for path in ("/brokers/topics/t/partitions/1/state", "/brokers/topics/t/partitions/1"):
        await world.store.delete(path)
    await world.brokers[1].kill()
    assert (await world.led("t", 3, 1)).controller_epoch == 2


async def test_topic_written_to_the_store_is_found_and_gets_a_leader(world: World) -> None:
    data = b'{"version":3,"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":{"0":[2,1]},"adding_replicas":{}}'
    await world.store.create("/brokers/topics/direct", data)
    assert (await world.led("direct", 2)).isr == (2, 1)


async def test_topic_grows(world: World) -> None:
    await make(world, assignment=((2, 3),))
    controller = await world.active()
    assert await controller.create_partitions([NewPartitions("t", 3, [(3, 1), (1, 2)])]) == [None]
    assert (await world.led("t", 1, 2)).isr == (1, 2)
    await controller.create_partitions([NewPartitions("t", 4)])
    assert len((await world.state("t", 3)).isr) == 2
    node = await world.store.get("/brokers/topics/t")
    assert b'"1":[3,1],"2":[1,2]' in node.data


async def test_lowered_minimum_clears_the_elr_before_leaders_can_know(world: World) -> None:  # KIP-966
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    await world.brokers[2].kill()
    await world.eventually(lambda: world.brokers[3].told["t", 0].elr == (2,))
    store = world.brokers[1].store
    multi, paths = store.multi, []

    async def watching(operations: Any) -> Any:
        paths.extend(one.path for one in operations if not isinstance(one, Check))
        return await multi(operations)

    store.multi = watching  # type: ignore[method-assign]
    await (await world.active()).set_topic_configs({"t": {"min.insync.replicas": "1"}})
    assert paths[:2] == ["/brokers/topics/t/partitions/0/state", "/config/topics/t"]
    assert (await world.state("t")).elr == ()
    assert b'"min.insync.replicas":"1"' in (await world.store.get("/config/topics/t")).data


async def test_configuration_written_to_the_store_takes_effect(tmp_path: Path) -> None:
    settings = ControllerSettings(min_insync_replicas=1, is_auto_rebalance_enabled=False)
    async with playing(tmp_path, settings=settings) as world:
        await make(world, assignment=((3, 2),))
        await world.led("t", 3)
        await set_state(world, Leadership(3, 0, (3,)))
        await world.brokers[1].kill()  # the next controller reads the state
        await world.active()
        await world.brokers[3].kill()
        await world.led("t", -1)
        await world.store.set("/config/topics/t", b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}')
        await world.store.create("/config/changes/config_change_", b"{}", is_sequential=True)
        assert (await world.led("t", 2)).is_recovering


async def test_configuration_that_was_not_written_is_not_known(world: World) -> None:
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    await world.brokers[2].kill()
    await world.eventually(lambda: world.brokers[3].told["t", 0].elr == (2,))
    controller, store = await world.active(), world.brokers[1].store
    term = controller._term
    assert term is not None
    topic, multi = term.context.topics["t"], store.multi

    async def failing(_: Any) -> Any:
        store.multi = multi  # type: ignore[method-assign]
        raise StoreUnavailableError("/", "no answer")

    store.multi = failing  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailableError):
        await controller.set_topic_configs({"t": {"min.insync.replicas": "1"}})
    assert topic.configs == {}


async def test_notices_that_are_gone_from_the_store_are_forgotten(world: World) -> None:
    await make(world)
    controller = await world.active()
    term = controller._term
    assert term is not None
    for number in range(5):
        await controller.set_topic_configs({"t": {"retention.ms": str(number)}})
        names = await world.store.get_children("/config/changes")
        for name in names:
            await world.store.delete(f"/config/changes/{name}")
    await world.store.create("/config/changes/config_change_", b"{}", is_sequential=True)

    async def knows_that_alone() -> bool:
        return term.noted_changes == set(await world.store.get_children("/config/changes"))

    await world.eventually(knows_that_alone)


async def test_broker_that_restarted_while_the_store_was_away_is_not_shutting_down(world: World) -> None:
    term = (await world.active())._term
    assert term is not None
    before = term.context
    before.shutting_down |= {2, 3}
    read = ControllerContext()
    read.brokers = dict(before.brokers)
    read.brokers[3] = before.brokers[3]._replace(epoch=before.brokers[3].epoch + 1)
    term.replace_context(read)
    assert read.shutting_down == {2}


async def test_topic_whose_states_take_several_writes_has_its_nodes_once(world: World) -> None:
    controller = await world.active()
    world.brokers[1].store.batch_bytes = 4000
    writes = world.count_writes(1)
    await controller.create_topic(NewTopic.placed("t", ((2, 3),) * 40))
    assert len(writes) > 2
    assert (await world.led("t", 2, 39)).isr == (2, 3)


async def test_store_that_is_away_has_nothing_decided_and_everything_afterwards(world: World) -> None:  # H28
    await make(world, assignment=((3, 2), (2, 3)))
    await world.led("t", 3)
    controller = await world.active()
    lock = sqlite3.connect(world.path, isolation_level=None, timeout=20)
    lock.execute("BEGIN IMMEDIATE")
    told = world.brokers[2].count(LEADER_AND_ISR)
    try:
        with pytest.raises(StoreUnavailableError):
            await controller.create_topic(NewTopic.placed("u", ((2,),)))
        assert controller.is_active
        assert world.brokers[2].count(LEADER_AND_ISR) == told
    finally:
        lock.execute("ROLLBACK")
        lock.close()
    await world.brokers[3].kill()
    assert (await world.led("t", 2)).isr == (2,)
    assert controller.epoch == 1
    await make(world, "v", ((2,),))
    await world.led("v", 2)


@pytest.mark.parametrize("is_applied", [True, False])
async def test_write_of_unknown_outcome_is_looked_up_and_gone_on_from(world: World, is_applied: bool) -> None:  # H28
    await make(world, assignment=((3, 2),))
    await world.led("t", 3)
    store = world.brokers[1].store
    multi = store.multi

    async def failing(operations: Any) -> Any:
        store.multi = multi  # type: ignore[method-assign]
        if is_applied:
            await multi(operations)
        raise StoreUnavailableError("/", "no answer")

    store.multi = failing  # type: ignore[method-assign]
    await world.brokers[3].kill()
    state = await world.led("t", 2)
    assert (state.leader_epoch, state.isr) == (1, (2,))
    await world.eventually(lambda: world.brokers[1].live == [1, 2])


async def test_broker_that_does_not_answer_is_sent_the_newest_state_when_it_does(world: World) -> None:
    broker = world.brokers[2]
    broker.is_reachable = False
    count = broker.count(LEADER_AND_ISR)
    await make(world, "a", ((2,),))
    await make(world, "b", ((3, 2),))
    await world.led("b", 3)
    await world.brokers[3].kill()
    await asyncio.sleep(0)
    broker.is_reachable = True
    await world.led("b", 2)
    await world.led("a", 2)
    assert broker.count(LEADER_AND_ISR) <= count + 2  # the burst makes one request, two at the most


async def test_unclean_election_where_the_topic_allows_it(world: World) -> None:  # H6, KIP-704
    controller = await world.active()
    configs = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
    await controller.create_topic(NewTopic.placed("t", ((3, 2),), configs=configs))
    await world.led("t", 3)
    await world.brokers[2].kill()
    await world.eventually(lambda: world.brokers[3].told["t", 0].isr == (3,))
    await world.add(2)
    await world.brokers[3].kill()
    state = await world.led("t", 2)
    assert (state.isr, state.is_recovering) == ((2,), True)


async def test_preferred_leaders_get_their_partitions_back_by_themselves(tmp_path: Path) -> None:
    settings = ControllerSettings(min_insync_replicas=1, is_auto_rebalance_enabled=True, imbalance_check_interval_s=60)
    async with playing(tmp_path, settings=settings) as world:
        controller = await world.active()
        await make(world, assignment=((2, 3),))
        await world.led("t", 2)
        await set_state(world, Leadership(3, 7, (2, 3)))
        await world.brokers[1].kill()
        controller = await world.active()
        await world.led("t", 3)
        controller._on_timer()  # as the timer does
        assert (await world.led("t", 2)).leader_epoch == 8
