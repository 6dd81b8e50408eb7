"""Partitions that move to other brokers: each phase, and what ends it early (KIP-455, H16)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.controller import admin_nodes
from kafkastore.errors import ErrorCode
from kafkastore.metadata.assignment import Assigned, decode_assigned
from kafkastore.metadata.store import NoNodeError, SetData
from kafkastore.topic.new_topic import Growth, NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, STOP_REPLICA, World, play
from unit.controller.test_alter_partition import Leader

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from kafkastore.interbroker.messages import OutgoingRequest

BROKERS = (1, 2, 3, 4, 5)  # the first is the controller and has no replica
T0 = ("t", 0)


class Mover:
    """Moves the partitions of one topic."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def make(self, *assignment: Sequence[int]) -> None:
        self.topic = await (await self.world.active()).create_topic(NewTopic.placed("t", assignment))
        for number, replicas in enumerate(assignment):
            await self.world.led("t", replicas[0], number)

    async def ask(self, target: Sequence[int] | None, number: int = 0, *, allows_factor_change: bool = True) -> int:
        controller = await self.world.active()
        asked = {("t", number): target}
        outcome = await controller.alter_reassignments(asked, allows_factor_change=allows_factor_change)
        refusal = outcome["t", number]
        return ErrorCode.NONE if refusal is None else refusal.code

    async def assigned(self, number: int = 0) -> Assigned:
        return decode_assigned((await self.world.store.get("/brokers/topics/t")).data)[1][number]

    async def until(self, assigned: Assigned, number: int = 0) -> None:
        async def is_so() -> bool:
            return await self.assigned(number) == assigned

        await self.world.eventually(is_so)

    async def catch_up(self, *isr: int) -> None:
        """The leader of partition 0 proposes this in-sync set."""
        state = await self.world.state("t")
        leader = Leader(self.world, self.topic, state.leader)
        epochs = {"leader_epoch": state.leader_epoch, "partition_epoch": state.partition_epoch}
        assert (await leader.propose(isr, **epochs)).error_code == ErrorCode.NONE

    async def under_way(self) -> dict[tuple[str, int], Assigned]:
        return await (await self.world.active()).reassignments()


def play_moves(folder: Path, test: Callable[[World, Mover], Awaitable[None]]) -> None:
    play(folder, lambda world: test(world, Mover(world)), BROKERS)


def told_of(world: World, node_id: int, key: int) -> list[Any]:
    requests = [one.message for one in world.brokers[node_id].requests if one.api_key == key]
    return [state for one in requests for topic in one.topic_states for state in topic.partition_states]


# ---- the phases
def test_old_and_new_replicas_hold_the_partition_until_the_new_are_in_sync(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        assert await mover.ask((4, 2)) == ErrorCode.NONE
        moving = Assigned((4, 2, 3), (4,), (3,))
        assert await mover.assigned() == moving
        assert await mover.under_way() == {T0: moving}
        state = await world.state("t")
        assert (state.leader, state.leader_epoch, state.isr, state.partition_epoch) == (2, 0, (2, 3), 1)
        await world.eventually(lambda: all(world.brokers[n].told.get(T0) is not None for n in (2, 3, 4)))
        await world.eventually(lambda: world.brokers[3].told[T0].partition_epoch == 1)
        told = told_of(world, 4, LEADER_AND_ISR)[-1]
        assert (told.replicas, told.adding_replicas, told.removing_replicas) == ((4, 2, 3), (4,), (3,))
        assert told.is_new
        assert not told_of(world, 2, LEADER_AND_ISR)[-1].is_new
        await world.eventually(lambda: world.brokers[5].metadata[T0].replicas == (4, 2, 3))
        await world.quiet()
        assert world.brokers[3].count(STOP_REPLICA) == 0

    play_moves(tmp_path, test)


def test_complete_move_leaves_the_target_alone_with_the_partition(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 5))
        await mover.catch_up(2, 3, 4)
        assert await mover.assigned() == Assigned((4, 5, 2, 3), (4, 5), (2, 3))  # 5 is not in sync
        await mover.catch_up(2, 3, 4, 5)
        state = await world.led("t", 4)
        assert (state.leader_epoch, state.isr, state.elr) == (1, (4, 5), ())
        await mover.until(Assigned((4, 5)))
        assert world.brokers[2].deleted == world.brokers[3].deleted == [T0]
        assert await mover.under_way() == {}
        await world.eventually(lambda: world.brokers[1].metadata[T0].replicas == (4, 5))

    play_moves(tmp_path, test)


def test_leader_that_stays_goes_on_under_the_next_epoch(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 2))
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 2)))
        state = await world.led("t", 2)
        assert (state.leader_epoch, state.isr) == (1, (2, 4))

    play_moves(tmp_path, test)


def test_replicas_that_are_only_taken_go_at_once(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3, 4))
        assert await mover.ask((3, 4), allows_factor_change=False) == ErrorCode.INVALID_REPLICATION_FACTOR  # KIP-860
        assert await mover.ask((3, 4)) == ErrorCode.NONE
        assert (await world.led("t", 3)).isr == (3, 4)
        await mover.until(Assigned((3, 4)))
        assert world.brokers[2].deleted == [T0]

    play_moves(tmp_path, test)


def test_other_order_of_the_same_replicas_changes_no_leader(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        assert await mover.ask((3, 2)) == ErrorCode.NONE
        assert await mover.assigned() == Assigned((3, 2))
        state = await world.state("t")
        assert (state.leader, state.leader_epoch) == (2, 0)
        await world.eventually(lambda: world.brokers[5].metadata[T0].replicas == (3, 2))
        assert await mover.ask((3, 2)) == ErrorCode.NONE
        assert (await world.state("t")).partition_epoch == state.partition_epoch  # no change: nothing is written

    play_moves(tmp_path, test)


def test_more_partitions_than_one_write_takes_move_together(tmp_path: Path) -> None:  # H16
    async def test(world: World, mover: Mover) -> None:
        controller = await world.active()
        mover.topic = await controller.create_topic(NewTopic.placed("t", [(2, 3, 4)] * 450))
        outcome = await controller.alter_reassignments({("t", number): (3, 4) for number in range(450)})
        assert set(outcome.values()) == {None}
        await mover.until(Assigned((3, 4)), 449)
        await mover.until(Assigned((3, 4)), 0)
        assert len(world.brokers[2].deleted) == 450
        assert {(await world.state("t", number)).leader for number in (0, 199, 200, 449)} == {3}

    play_moves(tmp_path, test)


def test_rebalance_leaves_what_moves_to_the_end_of_the_move(tmp_path: Path) -> None:
    """Otherwise clients would have to look for the leader twice."""

    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        assert await mover.ask((4, 5)) == ErrorCode.NONE
        await mover.catch_up(2, 3, 4)
        (await world.active())._enqueue_watched("rebalance")
        await world.quiet()
        assert (await world.state("t")).leader == 2
        await mover.catch_up(2, 3, 4, 5)
        assert (await world.led("t", 4)).leader_epoch == 1

    play_moves(tmp_path, test)


def test_partitions_that_are_added_during_a_move_have_as_many_replicas_as_after_it(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        assert await mover.ask((4, 5)) == ErrorCode.NONE
        assert await (await world.active()).create_partitions([Growth("t", 2)]) == [None]
        assert len((await world.state("t", 1)).isr) == 2

    play_moves(tmp_path, test)


# ---- the controller dies
@pytest.mark.parametrize("writes", [1, 2, 3])
def test_controller_that_dies_after_a_write_is_followed_by_one_that_goes_on(  # H16
    tmp_path: Path, writes: int
) -> None:
    """Write 1 is the reassignment, 2 its completion, 3 the deletions. No broker is notified of the last write."""

    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        hung = hang_after(world.brokers[1].store, writes)
        asking = asyncio.ensure_future(mover.ask((4, 5)))
        if writes > 1:
            assert await asking == ErrorCode.NONE
            await mover.catch_up(2, 3, 4, 5)
        await hung.wait()
        await world.brokers[1].kill()
        await asyncio.gather(asking, return_exceptions=True)
        assert (await world.active()).epoch == 2
        await world.eventually(lambda: T0 in world.brokers[4].told)
        if writes == 1:
            await mover.catch_up(2, 3, 4, 5)
        state = await world.led("t", 4)
        assert (state.leader_epoch, state.isr) == (1, (4, 5))
        await mover.until(Assigned((4, 5)))
        assert set(world.brokers[2].deleted) == set(world.brokers[3].deleted) == {T0}
        await world.eventually(lambda: world.brokers[5].metadata[T0].replicas == (4, 5))

    play_moves(tmp_path, test)


def hang_after(store: Any, writes: int) -> asyncio.Event:
    """The store takes ``writes`` writes of the topic's assignment, and the call of the last one never returns."""
    multi, hung, seen = store.multi, asyncio.Event(), 0

    async def counted(operations: Any) -> Any:
        nonlocal seen
        results = await multi(operations)
        seen += any(isinstance(one, SetData) and one.path == "/brokers/topics/t" for one in operations)
        if seen == writes:
            hung.set()
            await asyncio.Event().wait()
        return results

    store.multi = counted
    return hung


# ---- another target is requested
@pytest.mark.parametrize("in_sync", [(2, 3), (2, 3, 4)])
def test_cancelled_move_gives_the_added_replicas_up(tmp_path: Path, in_sync: tuple[int, ...]) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 5))
        if in_sync != (2, 3):
            await mover.catch_up(*in_sync)
        await world.eventually(lambda: T0 in world.brokers[4].told and T0 in world.brokers[5].told)
        assert await mover.ask(None) == ErrorCode.NONE
        assert await mover.under_way() == {}
        state = await world.led("t", 2)
        assert (state.leader_epoch, state.isr) == (1, (2, 3))
        await mover.until(Assigned((2, 3)))
        assert world.brokers[4].deleted == world.brokers[5].deleted == [T0]
        assert await mover.ask(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS

    play_moves(tmp_path, test)


def test_complete_move_cannot_be_cancelled(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        world.brokers[3].refuses_deletion = True  # the replica's deletion stays pending
        await mover.ask((2, 4))
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((2, 4), (), (3,)))
        assert await mover.ask(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        assert await mover.under_way() == {}

    play_moves(tmp_path, test)


def test_cancellation_never_costs_the_minimum_in_sync(tmp_path: Path) -> None:  # KIP-966, H16
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 5))
        await mover.catch_up(2, 4)  # 3 has fallen behind: records committed from now on are on 2 and 4
        assert await mover.ask(None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert (await mover.assigned()).is_moving
        await mover.catch_up(2, 3, 4)
        assert await mover.ask(None) == ErrorCode.NONE
        await mover.until(Assigned((2, 3)))

    play_moves(tmp_path, test)


def test_added_replica_that_leads_hands_over_when_the_move_is_cancelled(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3, 1))
        await mover.ask((4, 5, 1))
        await mover.catch_up(2, 3, 4, 1)
        await world.brokers[2].kill()
        await world.led("t", 4)
        assert await mover.ask(None) == ErrorCode.NONE
        state = await world.led("t", 1)
        assert state.isr == (3, 1)
        await mover.until(Assigned((1, 2, 3)))

    play_moves(tmp_path, test)


def test_move_is_replaced_by_another_from_the_same_origin(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 3))
        await world.eventually(lambda: T0 in world.brokers[4].told)
        assert await mover.ask((5, 3)) == ErrorCode.NONE
        await mover.until(Assigned((5, 3, 2), (5,), (2,)))
        assert world.brokers[4].deleted == [T0]
        assert await mover.ask((4, 3)) == ErrorCode.NONE  # back to the broker on which it was deleted
        await mover.until(Assigned((4, 3, 2), (4,), (2,)))
        await world.eventually(lambda: T0 in world.brokers[4].told)
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 3)))
        assert world.brokers[5].deleted == [T0]

    play_moves(tmp_path, test)


def test_replica_kept_by_another_move_is_not_sent_as_new_again(tmp_path: Path) -> None:  # KIP-112, KIP-455
    """The replica may be in sync, and in a directory that is offline now: created anew it would be empty."""

    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 5))
        await world.eventually(lambda: all(T0 in world.brokers[node].told for node in (4, 5)))
        await mover.catch_up(2, 3, 4)
        assert await mover.ask((4, 1)) == ErrorCode.NONE
        epoch = (await world.state("t")).partition_epoch

        def is_told(node: int) -> bool:
            told = world.brokers[node].told.get(T0)
            return told is not None and told.partition_epoch >= epoch

        await world.eventually(lambda: is_told(1) and is_told(4))
        first, *later = told_of(world, 4, LEADER_AND_ISR)
        assert first.is_new
        assert later
        assert not any(one.is_new for one in later)
        assert told_of(world, 1, LEADER_AND_ISR)[0].is_new

    play_moves(tmp_path, test)


def test_topic_is_deleted_in_the_middle_of_a_move(tmp_path: Path) -> None:
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3), (2, 3))
        world.brokers[2].is_reachable = False
        await mover.ask((4, 3))
        await mover.ask((3,), 1)  # complete, and the deletion on 2 is pending
        await mover.until(Assigned((3,), (), (2,)), 1)
        controller = await world.active()
        await controller.delete_topic("t")
        assert await mover.under_way() == {}
        assert await mover.ask(None) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await world.quiet()
        assert await world.store.exists("/brokers/topics/t") is not None
        world.brokers[2].is_reachable = True

        async def is_gone() -> bool:
            return await world.store.exists("/admin/delete_topics/t") is None

        await world.eventually(is_gone)
        assert set(world.brokers[2].deleted) == {("t", 0), ("t", 1)}
        assert T0 in world.brokers[4].deleted
        with pytest.raises(NoNodeError):
            await mover.assigned()

    play_moves(tmp_path, test)


# ---- brokers that are away
def test_invalid_reassignments_are_refused_partition_by_partition(tmp_path: Path) -> None:  # KIP-455
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await world.brokers[5].kill()
        await world.eventually(lambda: world.brokers[1].live == [1, 2, 3, 4])
        for target in ((), (4, 4), (4, 9), (4, 5)):
            assert await mover.ask(target) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await mover.ask(None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        asked: Any = {("t", 1): (2,), ("t", -1): None, ("u", 0): (2,), T0: (3, 2)}
        outcome = await (await world.active()).alter_reassignments(asked)
        codes = [refusal and refusal.code for refusal in outcome.values()]
        assert codes == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3 + [None]
        assert await mover.assigned() == Assigned((3, 2))

    play_moves(tmp_path, test)


def test_move_to_a_broker_that_dies_waits_for_it(tmp_path: Path) -> None:  # H16
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await mover.ask((4, 3))
        await world.brokers[4].kill()
        await world.eventually(lambda: world.brokers[1].live == [1, 2, 3, 5])
        await mover.catch_up(3, 2)
        assert await mover.under_way() == {T0: Assigned((4, 3, 2), (4,), (2,))}
        await world.add(4)
        await world.eventually(lambda: T0 in world.brokers[4].told)
        await mover.catch_up(2, 3, 4)
        await mover.until(Assigned((4, 3)))

    play_moves(tmp_path, test)


def test_replica_taken_from_a_broker_that_is_away_is_deleted_when_it_is_back(tmp_path: Path) -> None:  # H16
    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        await world.brokers[3].kill()
        await world.eventually(lambda: world.brokers[2].told[T0].isr == (2,))
        await mover.ask((2, 4))
        await mover.catch_up(2, 4)
        assert await mover.under_way() == {}
        await mover.until(Assigned((2, 4), (), (3,)))
        await world.brokers[1].kill()  # the next controller knows of the pending deletion, too
        await world.active()
        await mover.until(Assigned((2, 4), (), (3,)))
        await world.add(3)
        await mover.until(Assigned((2, 4)))
        assert world.brokers[3].deleted == [T0]

    play_moves(tmp_path, test)


def test_replica_that_only_stopped_is_not_taken_for_deleted(tmp_path: Path) -> None:  # H16
    """The replica is removed while the answer to its broker's earlier StopReplica, of a shutdown, is on its way."""

    async def test(world: World, mover: Mover) -> None:
        await mover.make((2, 3))
        controller, broker = await world.active(), world.brokers[3]
        broker.refuses_deletion = True
        take = broker.take

        def take_while_it_is_moved(request: OutgoingRequest) -> bytes:
            if request.api_key == STOP_REPLICA and broker.count(STOP_REPLICA) == 0:
                move = {T0: (2,)}
                controller._events.put(
                    "move", lambda term: admin_nodes.alter_reassignments(term, move, allows_factor_change=True)
                )
            return take(request)

        broker.take = take_while_it_is_moved  # type: ignore[method-assign]
        await controller.controlled_shutdown(3, world.epoch_of(3))
        await world.eventually(lambda: broker.count(STOP_REPLICA) == 2)
        await world.quiet()
        assert await mover.assigned() == Assigned((2,), (), (3,))

    play_moves(tmp_path, test)
