"""A topic of 5,000 partitions costs the loop little: few writes, few requests, no wait for each partition."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from kafkastore.controller.topic_changes import NewTopic
from unit.controller.controller_world import LEADER_AND_ISR, UPDATE_METADATA, World, play

if TYPE_CHECKING:
    from pathlib import Path

COUNT = 5000
CPU_LIMIT_S = 2.0
"""Of all threads, brokers and SQLite of the test included, on a busy machine; it takes some 0.2 s on an idle one."""


def test_topic_of_5000_partitions_is_a_few_writes_and_requests(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        controller = await world.active()
        store = world.brokers[1].store
        multi, writes = store.multi, []

        async def counting(operations: Any) -> Any:
            writes.append(len(operations))
            return await multi(operations)

        store.multi = counting  # type: ignore[method-assign]
        before = {one.node_id: len(one.requests) for one in world.brokers.values()}
        started = time.process_time()
        await controller.create_topic(NewTopic("t", COUNT, 3))
        await world.eventually(lambda: all(len(one.metadata) == COUNT for one in world.brokers.values()))
        spent = time.process_time() - started
        assert len(writes) <= 10
        assert sum(writes) <= 2 * COUNT + 30
        for broker in world.brokers.values():
            assert len(broker.told) == COUNT
            keys = [request.__api_key__ for request in broker.requests[before[broker.node_id] :]]
            assert keys == [LEADER_AND_ISR, UPDATE_METADATA]
        assert spent < CPU_LIMIT_S
        print(f"5,000 partitions on 3 brokers: {spent:.2f} s of CPU, {len(writes)} writes")

    play(tmp_path, test)


def test_conflict_in_a_later_batch_is_read_again_and_all_others_are_written(tmp_path: Path) -> None:  # H21
    async def test(world: World) -> None:
        controller = await world.active()
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

    play(tmp_path, test)
