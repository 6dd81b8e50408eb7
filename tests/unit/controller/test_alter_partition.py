"""AlterPartition: which changes of the in-sync set a leader may make, and the answers (KIP-497, KIP-841, KIP-903)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafkastore._core import response_encoder
from kafkastore.controller.context import Topic
from kafkastore.controller.controller import Controller
from kafkastore.errors import ErrorCode
from kafkastore.messages import OutgoingRequest
from kafkastore.metadata.leadership import Leadership
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import World, lose_directory, playing

Fields = dict[str, Any]


async def decided(controller: Controller, request: OutgoingRequest) -> Any:
    """The controller's answer as the leader reads it."""
    fields = await controller.alter_partition(request.decoded())
    return request.response(response_encoder(request.api_key, request.version).row(fields))


class Leader:
    """Sends AlterPartition as the leader of one topic's partitions."""

    def __init__(self, world: World, topic: Topic, node_id: int) -> None:
        self.world = world
        self.topic_id: bytes | None = topic.topic_id
        self.node_id = node_id

    def partition(self, isr: Sequence[int], partition: int = 0, **fields: Any) -> Fields:
        members = [
            {"broker_id": one, "broker_epoch": self.world.epoch_of(one) if one in self.world.brokers else 1}
            for one in isr
        ]
        known = {"leader_epoch": 0, "partition_epoch": 0, "new_isr_with_epochs": members} | fields
        return {"partition_index": partition, **known}

    def request(self, *partitions: Fields, version: int = 3) -> OutgoingRequest:
        fields = {
            "broker_id": self.node_id,
            "broker_epoch": self.world.epoch_of(self.node_id),
            "topics": [{"topic_id": self.topic_id, "partitions": partitions}],
        }
        return OutgoingRequest("AlterPartition", version, fields)

    async def propose(self, isr: Sequence[int], **fields: Any) -> Any:
        """Proposes an in-sync set; returns the answer for the partition."""
        answer = await decided(await self.world.active(), self.request(self.partition(isr, **fields)))
        assert answer.error_code == ErrorCode.NONE
        return answer.topics[0].partitions[0]


async def led_topic(world: World, count: int = 1) -> Leader:
    """A topic led by broker 2 in epoch 0, with 3 and 1 as followers."""
    topic = await (await world.active()).create_topic(NewTopic.placed("t", [(2, 3, 1)] * count))
    await world.led("t", 2)
    return Leader(world, topic, 2)


async def test_shrink_and_expand_are_written_and_answered_with_the_new_state(world: World) -> None:  # KIP-497
    leader = await led_topic(world)
    answer = await leader.propose((2,))
    assert answer.error_code == ErrorCode.NONE
    assert (answer.leader_id, answer.leader_epoch, answer.isr, answer.partition_epoch) == (2, 0, (2,), 1)
    state = await world.state("t")
    assert state == Leadership(2, 0, (2,), (3, 1), partition_epoch=1, controller_epoch=1)  # KIP-966
    answer = await leader.propose((2, 1), partition_epoch=1)
    assert (answer.isr, answer.partition_epoch) == ((2, 1), 2)
    assert (await world.state("t")).elr == ()
    await world.eventually(lambda: world.brokers[3].metadata["t", 0].isr == (2, 1))


async def test_version_2_has_no_broker_epochs(world: World) -> None:  # KIP-903
    leader = await led_topic(world)
    partition = {"partition_index": 0, "leader_epoch": 0, "new_isr": (2, 3), "partition_epoch": 0}
    answer = await decided(await world.active(), leader.request(partition, version=2))
    assert answer.topics[0].partitions[0].isr == (2, 3)


REFUSED: dict[str, tuple[Sequence[int], Callable[[World], Fields], int]] = {
    "an older partition epoch (H21)": ((2,), lambda _: {"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
    "a newer partition epoch": ((2,), lambda _: {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
    "an older leader epoch": ((2,), lambda _: {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
    "a newer leader epoch": ((2,), lambda _: {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
    "without the leader": ((3, 1), lambda _: {}, ErrorCode.INVALID_REQUEST),
    "nobody": ((), lambda _: {}, ErrorCode.INVALID_REQUEST),
    "not a replica": ((2, 4), lambda _: {}, ErrorCode.INVALID_REQUEST),
    "a member twice": ((2, 3, 3), lambda _: {}, ErrorCode.INVALID_REQUEST),
    "recovering without cause (KIP-704)": ((2,), lambda _: {"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
    "another partition": ((2,), lambda _: {"partition": 7}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    "another life of a member (KIP-903)": (
        (),
        lambda world: {
            "new_isr_with_epochs": [
                {"broker_id": one, "broker_epoch": world.epoch_of(one) - (one == 1)} for one in (2, 3, 1)
            ]
        },
        ErrorCode.INELIGIBLE_REPLICA,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_proposal_that_is_refused_changes_nothing(tmp_path: Path, name: str) -> None:
    isr, fields, error = REFUSED[name]
    async with playing(tmp_path) as world:
        leader = await led_topic(world)
        assert (await leader.propose((2, 3))).partition_epoch == 1
        before = await world.state("t")
        answer = await leader.propose(isr, **({"partition_epoch": 1} | fields(world)))
        assert answer.error_code == error
        assert await world.state("t") == before


async def test_replica_in_a_failed_log_directory_does_not_get_into_the_isr(world: World) -> None:  # KIP-841, KIP-112
    leader = await led_topic(world)
    await lose_directory(world.brokers[3], ("t", 0))

    async def is_out() -> bool:
        return 3 not in (await world.state("t")).isr

    await world.eventually(is_out)
    before = await world.state("t")
    answer = await leader.propose((2, 1, 3), leader_epoch=before.leader_epoch, partition_epoch=before.partition_epoch)
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
    assert await world.state("t") == before


async def test_only_the_leader_may_propose(world: World) -> None:
    leader = await led_topic(world)
    leader.node_id = 3
    assert (await leader.propose((3, 2))).error_code == ErrorCode.INVALID_REQUEST


async def test_unknown_topics_stale_broker_epochs_and_other_brokers_are_refused(
    world: World,
) -> None:  # KIP-516, KIP-380
    leader = await led_topic(world)
    controller = await world.active()
    idle = world.brokers[3].controller
    assert idle is not None
    request = leader.request(leader.partition((2,)))
    assert (await decided(idle, request)).error_code == ErrorCode.NOT_CONTROLLER
    leader.topic_id = bytes(15) + b"\5"
    assert (await leader.propose((2,))).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    leader.topic_id = None
    assert (await leader.propose((2,))).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    stale = OutgoingRequest("AlterPartition", 3, {"broker_id": 2, "broker_epoch": 1, "topics": ()})
    assert (await decided(controller, stale)).error_code == ErrorCode.STALE_BROKER_EPOCH


async def test_repeated_proposal_whose_answer_was_lost_is_confirmed(world: World) -> None:  # H21
    leader = await led_topic(world)
    first = await leader.propose((2, 3))
    assert await leader.propose((3, 2)) == first
    assert (await world.state("t")).partition_epoch == 1


async def test_one_of_two_proposals_on_the_same_version_wins(world: World) -> None:  # H21
    leader = await led_topic(world)
    answers = await asyncio.gather(leader.propose((2, 3)), leader.propose((2, 1)))
    assert [one.error_code for one in answers] == [ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION]
    assert (await world.state("t")).isr == (2, 3)


async def test_state_written_by_another_client_of_the_store_is_not_overwritten(world: World) -> None:  # H21
    leader = await led_topic(world)
    path = "/brokers/topics/t/partitions/0/state"
    node = await world.store.get(path)
    await world.store.set(path, node.data.replace(b"[2,3,1]", b"[2,1]"))
    assert (await leader.propose((2, 3))).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert (await world.state("t")).isr == (2, 1)
    answer = await leader.propose((2, 3), partition_epoch=1)
    assert (answer.isr, answer.partition_epoch) == ((2, 3), 2)


async def test_many_partitions_are_one_write(world: World) -> None:
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
        *(decided(controller, leader.request(*(leader.partition((2, 3), one) for one in half))) for half in halves)
    )
    assert writes == [101]  # 100 states, and the check of the epoch
    states = [one for answer in answers for one in answer.topics[0].partitions]
    assert {(one.error_code, one.isr) for one in states} == {(ErrorCode.NONE, (2, 3))}


async def test_follower_that_is_gone_or_shuts_down_is_not_added(world: World) -> None:  # H20, KIP-841
    leader = await led_topic(world)
    controller = await world.active()
    assert await controller.controlled_shutdown(3, world.epoch_of(3)) == []
    state = await world.state("t")
    assert state.isr == (2, 1)
    answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
    await world.brokers[3].kill()
    await world.eventually(lambda: 3 not in world.brokers[1].live)
    answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
    await world.add(3)
    await world.eventually(lambda: 3 in world.brokers[1].live)
    answer = await leader.propose((2, 1, 3), partition_epoch=state.partition_epoch)
    assert answer.error_code == ErrorCode.NONE
