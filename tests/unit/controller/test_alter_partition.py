"""AlterPartition: which changes of the in-sync set a leader may make, and the answers (KIP-497, KIP-841, KIP-903)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from kio.schema.alter_partition.v2 import request as v2
from kio.schema.alter_partition.v3 import request as v3
from kio.schema.errors import ErrorCode

from kafkastore.metadata.leadership import Leadership
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import World, lose_directory, play

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kafkastore.controller.context import Topic


class Leader:
    """Sends AlterPartition as the leader of one topic's partitions."""

    def __init__(self, world: World, topic: Topic, node_id: int) -> None:
        self.world = world
        self.topic_id: UUID | None = UUID(bytes=topic.topic_id)
        self.node_id = node_id

    def partition(self, isr: Sequence[int], partition: int = 0, **fields: Any) -> Any:
        members = tuple(
            v3.BrokerState(broker_id=one, broker_epoch=self.world.epoch_of(one) if one in self.world.brokers else 1)
            for one in isr
        )
        known = {"leader_epoch": 0, "partition_epoch": 0, "new_isr_with_epochs": members} | fields
        return v3.PartitionData(partition_index=partition, **known)

    def request(self, *partitions: Any) -> Any:
        return v3.AlterPartitionRequest(
            broker_id=self.node_id,
            broker_epoch=self.world.epoch_of(self.node_id),
            topics=(v3.TopicData(topic_id=self.topic_id, partitions=partitions),),
        )

    async def propose(self, isr: Sequence[int], **fields: Any) -> Any:
        """Proposes an in-sync set; returns the answer for the partition."""
        controller = await self.world.active()
        answer = await controller.alter_partition(self.request(self.partition(isr, **fields)))
        assert answer.error_code is ErrorCode.none
        return answer.topics[0].partitions[0]


async def led_topic(world: World, count: int = 1) -> Leader:
    """A topic led by broker 2 in epoch 0, with 3 and 1 as followers."""
    topic = await (await world.active()).create_topic(NewTopic.placed("t", [(2, 3, 1)] * count))
    await world.led("t", 2)
    return Leader(world, topic, 2)


def test_shrink_and_expand_are_written_and_answered_with_the_new_state(tmp_path: Path) -> None:  # KIP-497
    async def test(world: World) -> None:
        leader = await led_topic(world)
        answer = await leader.propose((2,))
        assert answer.error_code is ErrorCode.none
        assert (answer.leader_id, answer.leader_epoch, answer.isr, answer.partition_epoch) == (2, 0, (2,), 1)
        state = await world.state("t")
        assert state == Leadership(2, 0, (2,), (3, 1), partition_epoch=1, controller_epoch=1)  # KIP-966
        answer = await leader.propose((2, 1), partition_epoch=1)
        assert (answer.isr, answer.partition_epoch) == ((2, 1), 2)
        assert (await world.state("t")).elr == ()
        await world.eventually(lambda: world.brokers[3].metadata["t", 0].isr == (2, 1))

    play(tmp_path, test)


def test_version_2_has_no_broker_epochs(tmp_path: Path) -> None:  # KIP-903
    async def test(world: World) -> None:
        leader = await led_topic(world)
        partition = v2.PartitionData(partition_index=0, leader_epoch=0, new_isr=(2, 3), partition_epoch=0)
        request = v2.AlterPartitionRequest(
            broker_id=2,
            broker_epoch=world.epoch_of(2),
            topics=(v2.TopicData(topic_id=leader.topic_id, partitions=(partition,)),),
        )
        answer = await (await world.active()).alter_partition(request)
        assert answer.__version__ == 2
        assert answer.topics[0].partitions[0].isr == (2, 3)

    play(tmp_path, test)


Fields = dict[str, Any]
REFUSED: dict[str, tuple[Sequence[int], Callable[[World], Fields], ErrorCode]] = {
    "an older partition epoch (H21)": ((2,), lambda _: {"partition_epoch": 0}, ErrorCode.invalid_update_version),
    "a newer partition epoch": ((2,), lambda _: {"partition_epoch": 9}, ErrorCode.not_controller),
    "an older leader epoch": ((2,), lambda _: {"leader_epoch": -1}, ErrorCode.fenced_leader_epoch),
    "a newer leader epoch": ((2,), lambda _: {"leader_epoch": 1}, ErrorCode.not_controller),
    "without the leader": ((3, 1), lambda _: {}, ErrorCode.invalid_request),
    "nobody": ((), lambda _: {}, ErrorCode.invalid_request),
    "not a replica": ((2, 4), lambda _: {}, ErrorCode.invalid_request),
    "a member twice": ((2, 3, 3), lambda _: {}, ErrorCode.invalid_request),
    "recovering without cause (KIP-704)": ((2,), lambda _: {"leader_recovery_state": 1}, ErrorCode.invalid_request),
    "another partition": ((2,), lambda _: {"partition": 7}, ErrorCode.unknown_topic_or_partition),
    "another life of a member (KIP-903)": (
        (),
        lambda world: {
            "new_isr_with_epochs": tuple(
                v3.BrokerState(broker_id=one, broker_epoch=world.epoch_of(one) - (one == 1)) for one in (2, 3, 1)
            )
        },
        ErrorCode.ineligible_replica,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_proposal_that_is_refused_changes_nothing(tmp_path: Path, name: str) -> None:
    isr, fields, error = REFUSED[name]

    async def test(world: World) -> None:
        leader = await led_topic(world)
        assert (await leader.propose((2, 3))).partition_epoch == 1
        before = await world.state("t")
        answer = await leader.propose(isr, **({"partition_epoch": 1} | fields(world)))
        assert answer.error_code is error
        assert await world.state("t") == before

    play(tmp_path, test)


def test_replica_in_a_failed_log_directory_does_not_get_into_the_isr(tmp_path: Path) -> None:  # KIP-841, KIP-112
    async def test(world: World) -> None:
        leader = await led_topic(world)
        await lose_directory(world.brokers[3], ("t", 0))

        async def is_out() -> bool:
            return 3 not in (await world.state("t")).isr

        await world.eventually(is_out)
        before = await world.state("t")
        answer = await leader.propose(
            (2, 1, 3), leader_epoch=before.leader_epoch, partition_epoch=before.partition_epoch
        )
        assert answer.error_code is ErrorCode.ineligible_replica
        assert await world.state("t") == before

    play(tmp_path, test)


def test_only_the_leader_may_propose(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        leader = await led_topic(world)
        leader.node_id = 3
        assert (await leader.propose((3, 2))).error_code is ErrorCode.invalid_request

    play(tmp_path, test)


def test_unknown_topics_stale_broker_epochs_and_other_brokers_are_refused(tmp_path: Path) -> None:  # KIP-516, KIP-380
    async def test(world: World) -> None:
        leader = await led_topic(world)
        controller = await world.active()
        idle = world.brokers[3].controller
        assert idle is not None
        request = leader.request(leader.partition((2,)))
        assert (await idle.alter_partition(request)).error_code is ErrorCode.not_controller
        leader.topic_id = UUID(int=5)
        assert (await leader.propose((2,))).error_code is ErrorCode.unknown_topic_id
        leader.topic_id = None
        assert (await leader.propose((2,))).error_code is ErrorCode.unknown_topic_id
        stale = v3.AlterPartitionRequest(broker_id=2, broker_epoch=1, topics=())
        assert (await controller.alter_partition(stale)).error_code is ErrorCode.stale_broker_epoch

    play(tmp_path, test)


def test_repeated_proposal_whose_answer_was_lost_is_confirmed(tmp_path: Path) -> None:  # H21
    async def test(world: World) -> None:
        leader = await led_topic(world)
        first = await leader.propose((2, 3))
        assert await leader.propose((3, 2)) == first
        assert (await world.state("t")).partition_epoch == 1

    play(tmp_path, test)


def test_one_of_two_proposals_on_the_same_version_wins(tmp_path: Path) -> None:  # H21
    async def test(world: World) -> None:
        leader = await led_topic(world)
        answers = await asyncio.gather(leader.propose((2, 3)), leader.propose((2, 1)))
        assert [one.error_code for one in answers] == [ErrorCode.none, ErrorCode.invalid_update_version]
        assert (await world.state("t")).isr == (2, 3)

    play(tmp_path, test)


def test_state_written_by_another_client_of_the_store_is_not_overwritten(tmp_path: Path) -> None:  # H21
    async def test(world: World) -> None:
        leader = await led_topic(world)
        path = "/brokers/topics/t/partitions/0/state"
        node = await world.store.get(path)
        await world.store.set(path, node.data.replace(b"[2,3,1]", b"[2,1]"))
        assert (await leader.propose((2, 3))).error_code is ErrorCode.invalid_update_version
        assert (await world.state("t")).isr == (2, 1)
        answer = await leader.propose((2, 3), partition_epoch=1)
        assert (answer.isr, answer.partition_epoch) == ((2, 3), 2)

    play(tmp_path, test)


def test_many_partitions_are_one_write(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        leader = await led_topic(world, 100)
        controller = await world.active()
        await world.quiet()
        writes = []
        store = world.brokers[1].store
        multi = store.multi

        async def counting(operations: Any) -> Any:
            writes.append(len(operations))
            return await multi(operations)

        store.multi = counting  # type: ignore[method-assign]
        halves = [range(50), range(50, 100)]
        answers = await asyncio.gather(
            *(
                controller.alter_partition(leader.request(*(leader.partition((2, 3), one) for one in half)))
                for half in halves
            )
        )
        assert writes == [101]  # 100 states, and the check of the epoch
        states = [one for answer in answers for one in answer.topics[0].partitions]
        assert {(one.error_code, one.isr) for one in states} == {(ErrorCode.none, (2, 3))}

    play(tmp_path, test)


def test_follower_that_is_gone_or_shuts_down_is_not_added(tmp_path: Path) -> None:  # H20, KIP-841
    async def test(world: World) -> None:
        leader = await led_topic(world)
        controller = await world.active()
        assert await controller.controlled_shutdown(3, world.epoch_of(3)) == []
        state = await world.state("t")
        assert state.isr == (2, 1)
        answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
        assert answer.error_code is ErrorCode.ineligible_replica
        await world.brokers[3].kill()
        await world.eventually(lambda: 3 not in world.brokers[1].live)
        answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
        assert answer.error_code is ErrorCode.ineligible_replica
        await world.add(3)
        await world.eventually(lambda: 3 in world.brokers[1].live)
        answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
        assert answer.error_code is ErrorCode.none

    play(tmp_path, test)
