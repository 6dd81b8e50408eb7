"""Events of many partitions yield to the loop: its longest step does not grow with them."""

from __future__ import annotations

import asyncio
import sys
from asyncio import events
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import pytest

from kafkastore.controller import channels, failover, state_writer
from kafkastore.controller.controller import Controller
from kafkastore.controller.term import Term
from kafkastore.errors import NotControllerError
from kafkastore.interbroker.orders import LeaderAndIsr, Order, OrderAnswer, StopReplica, UpdateMetadata
from kafkastore.metadata import assignment, batches, stored_topics, writes
from kafkastore.purgatory import turns
from kafkastore.topic.new_topic import NewPartitions, NewTopic
from unit.controller.controller_world import World, playing

Work = Callable[[World, Controller, int], Awaitable[object]]

FEW, MANY = 160, 640
AT_ONCE = 16
GROWTH: Final = 1.5
"""How much longer the longest step may be with four times as many partitions."""

CHEAP: Final = 20
"""Opcodes that a step may add for each partition: a comprehension or two, some 10 ms for 100,000 partitions."""

OF_A_REQUEST: Final = 110
"""The same for requests of which each has at most about 10,000 partitions."""


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice of work ends as soon as it begins, and handles few partitions."""
    monkeypatch.setattr(turns, "TURN_S", -1.0)
    for module, name in [
        (turns, "AT_ONCE"),
        (state_writer, "AT_ONCE"),
        (batches, "LOOKED_AT"),
        (writes, "LOOKED_AT"),
        (assignment, "IN_A_STEP"),
        (stored_topics, "IN_A_STEP"),
        (channels, "ROWS"),
        (channels, "STOPPED_ROWS"),
    ]:
        monkeypatch.setattr(module, name, AT_ONCE)


class Steps:
    """The opcodes of the loop's longest callback, in the controller and the code that sends its requests."""

    def __init__(self) -> None:
        self.longest = 0
        self._count = 0

    def __enter__(self) -> Self:
        self._run = run = events.Handle._run

        def counted(handle: Any) -> None:
            self._count = 0
            run(handle)
            self.longest = max(self.longest, self._count)

        events.Handle._run = counted  # type: ignore[method-assign]
        self._before = sys.gettrace()
        sys.settrace(self._entered)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        events.Handle._run = self._run  # type: ignore[method-assign]

    def _entered(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        if "/kafkastore/controller/" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._each

    def _each(self, _frame: FrameType, event: str, _argument: Any) -> Any:
        self._count += event == "opcode"
        return self._each


class SilentClient:
    """A broker that answers every request without an error."""

    def __init__(self, orders: list[Order]) -> None:
        self.orders = orders

    async def send(self, order: Order, timeout_ms: int) -> OrderAnswer:
        self.orders.append(order)
        await asyncio.sleep(0)
        return OrderAnswer(0)

    async def close(self) -> None:
        return


async def in_term(controller: Controller, run: Callable[[Term], Awaitable[object]]) -> object:
    return await controller._ask("test", run)


async def create_topics(_: World, controller: Controller, count: int) -> None:
    await controller.create_topics([NewTopic(f"t{number}", 1, 2) for number in range(count)])


async def create_one(_: World, controller: Controller, count: int) -> None:
    await controller.create_topic(NewTopic("t", count, 2))


async def grow(_: World, controller: Controller, count: int) -> None:
    (error,) = await controller.create_partitions([NewPartitions("t", 2 * count)])
    assert error is None


async def configure(_: World, controller: Controller, count: int) -> None:
    assert not await controller.set_topic_configs({"t": {"min.insync.replicas": "2"}})


async def elect_all(_: World, controller: Controller, count: int) -> None:
    await controller.elect_leaders(None)


async def elect_named(_: World, controller: Controller, count: int) -> None:
    found = await controller.elect_leaders([("t", number) for number in range(count)])
    assert len(found) == count


async def reassign(_: World, controller: Controller, count: int) -> None:
    outcomes = await controller.alter_reassignments(
        {("t", number): (2,) for number in range(count)}, allows_factor_change=True
    )
    assert not any(outcomes.values())


async def take_over(_: World, controller: Controller, count: int) -> None:
    await in_term(controller, failover.take_over)


async def lose_a_broker(world: World, controller: Controller, count: int) -> None:
    term = controller._term
    assert term is not None
    await world.brokers[2].kill()
    await world.eventually(lambda: 2 not in term.context.brokers)
    await in_term(controller, lambda _: asyncio.sleep(0))


async def delete(_: World, controller: Controller, count: int) -> None:
    deleted = await controller.delete_topic("t")
    assert not await controller.wait_deleted([deleted], 60.0)


WORKS: dict[str, tuple[Work | None, Work]] = {
    "topics are created": (None, create_topics),
    "a topic of many partitions is created": (None, create_one),
    "a topic grows": (create_one, grow),
    "a topic is configured": (create_one, configure),
    "leaders of all are elected": (create_one, elect_all),
    "leaders of named partitions are elected": (create_one, elect_named),
    "partitions are reassigned": (create_one, reassign),
    "a controller takes over": (create_one, take_over),
    "a broker dies": (create_one, lose_a_broker),
    "a topic is deleted": (create_one, delete),
}


CREATIONS: Final = frozenset(("topics are created", "a topic of many partitions is created", "a topic grows"))


async def longest_step(folder: Path, work: str, count: int) -> int:
    before, measured = WORKS[work]
    folder.mkdir()
    async with playing(folder, brokers=(1, 2)) as world:
        controller = await world.active()
        orders: list[Order] = []
        term = controller._term
        assert term is not None
        term.channels._open_client = lambda _: SilentClient(orders)
        for broker in list(term.context.brokers.values()):
            term.channels.add(broker)
        if before is not None:
            await before(world, controller, count)
        with Steps() as steps:
            await measured(world, controller, count)
            for broker in term.context.brokers:
                await controller.wait_sent(broker, 60.0)
        assert orders
        return steps.longest


@pytest.mark.parametrize("work", WORKS)
async def test_longest_step_of_an_event_does_not_grow_with_partitions(tmp_path: Path, work: str) -> None:
    few = await longest_step(tmp_path / "few", work, FEW)
    many = await longest_step(tmp_path / "many", work, MANY)
    cheap = OF_A_REQUEST if work in CREATIONS else CHEAP
    assert many <= few * GROWTH + cheap * (MANY - FEW), f"{few} opcodes for {FEW}, {many} for {MANY}"


async def test_orders_are_of_few_partitions_and_full_metadata_ends_with_all_names(tmp_path: Path) -> None:
    async with playing(tmp_path, brokers=(1, 2)) as world:
        controller = await world.active()
        await controller.create_topic(NewTopic("t", 100, 2))
        await controller.create_topic(NewTopic("u", 1, 2))
        term = controller._term
        assert term is not None
        orders: list[Order] = []
        term.channels._open_client = lambda _: SilentClient(orders)
        term.channels.add(term.context.brokers[2])
        await controller.wait_sent(2, 60.0)
        leaders = [one for one in orders if isinstance(one, LeaderAndIsr)]
        metadata = [one for one in orders if isinstance(one, UpdateMetadata)]
        for several in (leaders, metadata):
            assert {sum(len(topic.partitions) for topic in one.topics) for one in several} <= set(range(AT_ONCE + 1))
            told = [(topic.name, one.number) for order in several for topic in order.topics for one in topic.partitions]
            assert sorted(told) == sorted([("u", 0), *(("t", number) for number in range(100))])
        assert len(leaders) > 1
        assert not any(one.is_full for one in leaders)  # none of them is all
        assert [one.is_full for one in metadata] == [*([False] * (len(metadata) - 1)), True]
        assert [topic.name for topic in metadata[-1].topics] == ["t", "u"]


async def test_event_ends_at_the_end_of_a_slice_when_its_term_is_over(tmp_path: Path) -> None:
    async with playing(tmp_path, brokers=(1,)) as world:
        controller = await world.active()
        told: list[object] = []

        async def resigned(term: Term) -> None:
            async for run in term.turn().runs(range(3 * AT_ONCE)):
                told.append(len(run))
                controller._resign()

        with pytest.raises(NotControllerError):
            await in_term(controller, resigned)
        assert told == [AT_ONCE]


async def test_stop_replica_with_deletion_is_sent_after_the_topic_is_announced_as_deleted(tmp_path: Path) -> None:
    async with playing(tmp_path, brokers=(1,)) as world:
        controller = await world.active()
        await controller.create_topic(NewTopic("t", 100, 1))
        term = controller._term
        assert term is not None
        orders: list[Order] = []
        term.channels._open_client = lambda _: SilentClient(orders)
        term.channels.add(term.context.brokers[1])  # gets the state of all partitions meanwhile
        deleted = await controller.delete_topic("t")
        assert not await controller.wait_deleted([deleted], 60.0)
        of_deletion = [
            number
            for number, one in enumerate(orders)
            if isinstance(one, UpdateMetadata) and any(topic.is_deleting and topic.partitions for topic in one.topics)
        ]
        stops = [number for number, one in enumerate(orders) if isinstance(one, StopReplica)]
        assert of_deletion
        assert of_deletion[0] < stops[0]
        assert sum(len(one.stopped) for one in orders if isinstance(one, StopReplica)) == 100
