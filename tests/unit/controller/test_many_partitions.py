"""A topic of 5,000 partitions costs the loop little: few writes, few requests, no wait for each partition."""

from __future__ import annotations

import time
from math import ceil

from kafkastore.controller.channels import ROWS
from kafkastore.controller.context import Topic
from kafkastore.errors import TopicAlreadyExistsError
from kafkastore.metadata.store import BATCH_BYTES
from kafkastore.topic.new_topic import NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, UPDATE_METADATA, World

COUNT = 5000
CPU_LIMIT_S = 2.0
"""CPU time of all threads, those of brokers and SQLite included, on a busy machine; on an idle one it is some 0.2 s."""


async def test_topic_of_5000_partitions_is_a_few_writes_and_requests(world: World) -> None:
    controller = await world.active()
    writes = world.count_writes(1)
    before = {one.node_id: len(one.requests) for one in world.brokers.values()}
    started = time.process_time()
    await controller.create_topic(NewTopic("t", COUNT, 3))
    await world.eventually(lambda: all(len(one.metadata) == COUNT for one in world.brokers.values()))
    spent = time.process_time() - started
    assert len(writes) <= 10
    requests = ceil(COUNT / ROWS)
    assert sum(writes) <= 2 * COUNT + 30
    for broker in world.brokers.values():
        assert len(broker.told) == COUNT
        keys = [request.api_key for request in broker.requests[before[broker.node_id] :]]
        assert keys == [*([LEADER_AND_ISR] * requests), *([UPDATE_METADATA] * requests)]
    assert spent < CPU_LIMIT_S
    print(f"5,000 partitions on 3 brokers: {spent:.2f} s of CPU, {len(writes)} writes")


async def test_conflict_in_a_later_batch_is_read_again_and_all_others_are_written(world: World) -> None:  # H21
    controller = await world.active()
    world.brokers[1].store.batch_bytes = BATCH_BYTES
    await controller.create_topic(NewTopic("t", COUNT, 3))
    await world.eventually(lambda: all(len(one.told) == COUNT for one in world.brokers.values()))
    path = f"/brokers/topics/t/partitions/{COUNT - 1}/state"
    node = await world.store.get(path)
    await world.store.set(path, node.data.replace(b'"leader_epoch":0', b'"leader_epoch":6'))
    started = time.process_time()
    await world.brokers[3].kill()
    two = (world.brokers[1], world.brokers[2])
    await world.eventually(
        lambda: all(3 not in state.isr and state.leader != 3 for one in two for state in one.metadata.values())
    )
    print(f"5,000 partitions without one of 3 brokers: {time.process_time() - started:.2f} s of CPU")
    last = await world.state("t", COUNT - 1)
    led_by_it = node.data.find(b'"leader":3') != -1
    assert (last.leader_epoch, last.partition_epoch) == (6 + led_by_it, 2)
    assert (await world.state("t", 0)).partition_epoch == 1


async def test_topics_of_one_request_are_one_write_and_one_request_to_each_broker(world: World) -> None:
    controller = await world.active()
    await controller.create_topic(NewTopic.placed("there", ((1,),)))
    await world.eventually(lambda: all(("there", 0) in one.metadata for one in world.brokers.values()))
    writes = world.count_writes(1)
    before = {one.node_id: len(one.requests) for one in world.brokers.values()}
    asked = [NewTopic("a", 2, 3), NewTopic("there"), NewTopic("b", 1, 9), NewTopic("c", 1, 3)]
    outcomes = await controller.create_topics(asked)
    assert [type(one).__name__ for one in outcomes] == [
        "Topic",
        "TopicAlreadyExistsError",
        "InvalidReplicationFactorError",
        "Topic",
    ]
    assert len(writes) == 1
    await world.eventually(lambda: all(("c", 0) in one.metadata for one in world.brokers.values()))
    for broker in world.brokers.values():
        keys = [request.api_key for request in broker.requests[before[broker.node_id] :]]
        assert keys == [LEADER_AND_ISR, UPDATE_METADATA]


async def test_topic_that_the_store_refuses_does_not_fail_the_others_of_its_request(world: World) -> None:
    controller = await world.active()
    await world.store.ensure_path("/brokers/topics/b/partitions")  # as if another controller had begun to create it
    first, second, third = await controller.create_topics([NewTopic(name, 1, 3) for name in "abc"])
    assert isinstance(second, TopicAlreadyExistsError)
    assert [one.name for one in (first, third) if isinstance(one, Topic)] == ["a", "c"]
    await world.led("c", (await world.state("c")).leader)
