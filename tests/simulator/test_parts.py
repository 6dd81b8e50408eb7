"""The simulator's own parts: a loop without time of its own, processes that die and stop, a store that keeps its
contract."""

from __future__ import annotations

import asyncio
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kafkastore.metadata.store import (
    EXPIRED,
    BadVersionError,
    Check,
    Create,
    NodeExistsError,
    NoNodeError,
    SetData,
    StoreUnavailableError,
)
from simulator.metadata import NAME, SESSION_TIMEOUT_S, SimulatedStore, Tree
from simulator.network import Lost, Network, in_world
from simulator.sockets import open_connection
from simulator.virtual_loop import Process, Quiescent, VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def play(test: Callable[[], Awaitable[None]]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(test())
    finally:
        loop.close()


class World:
    """A tree, a network, and processes with a session each."""

    def __init__(self) -> None:
        self.network = Network(Random(1))
        self.tree = Tree()

    async def store(self, name: str = "broker-1") -> tuple[SimulatedStore, Process]:
        process = Process(name)

        def call(callback: Any, *arguments: Any) -> None:
            asyncio.get_running_loop().call_soon(callback, *arguments, context=process.context)

        store = SimulatedStore(self.tree, self.network, name, call)
        await store.connect()
        return store, process


# ---- loop and processes
def test_clock_jumps_to_the_next_timer() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        begin = loop.time()
        await asyncio.sleep(3600)
        assert loop.time() == begin + 3600

    play(test)


def test_loop_with_nothing_left_to_do_says_so() -> None:
    async def test() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Quiescent):
        play(test)


def test_stopped_process_does_what_it_missed_in_order_and_a_dead_one_nothing() -> None:
    async def test() -> None:
        loop, done = asyncio.get_running_loop(), []
        sleeper, victim = Process("sleeper"), Process("victim")
        for number in range(3):
            loop.call_later(number, done.append, f"sleeper {number}", context=sleeper.context)
            loop.call_later(number, done.append, f"victim {number}", context=victim.context)
        sleeper.is_stopped = True
        await asyncio.sleep(0.5)
        victim.is_alive = False
        await asyncio.sleep(5)
        assert done == ["victim 0"]
        sleeper.go_on()
        await asyncio.sleep(0)
        assert done == ["victim 0", "sleeper 0", "sleeper 1", "sleeper 2"]

    play(test)


# ---- network
def test_request_over_a_cut_link_is_lost_and_its_answer_too() -> None:
    async def test() -> None:
        network, process, served = Network(Random(1)), Process("b"), []

        async def serve() -> str:
            served.append(1)
            return "done"

        assert await network.ask("a", "b", lambda: process, serve, 1.0) == "done"
        for link, times in ((("a", "b"), 1), (("b", "a"), 2)):
            network.cut_one_way(*link)
            with pytest.raises(Lost):
                await network.ask("a", "b", lambda: process, serve, 1.0)
            assert len(served) == times
            network.heal()

    play(test)


def test_late_request_arrives_after_its_sender_has_given_up() -> None:
    async def test() -> None:
        network, process, served = Network(Random(1)), Process("b"), []

        async def serve() -> None:
            served.append(asyncio.get_running_loop().time())

        network.late = 1.0
        with pytest.raises(Lost):
            await network.ask("a", "b", lambda: process, serve, 5.0)
        given_up = asyncio.get_running_loop().time()
        await asyncio.sleep(5)
        assert [given_up < time for time in served] == [True]

    play(test)


# ---- store
def test_multi_that_fails_has_changed_nothing() -> None:
    async def test() -> None:
        world = World()
        store, _ = await world.store()
        await store.create("/a", b"1")
        before = {path: (node.data, node.version, dict(node.children)) for path, node in world.tree.nodes.items()}
        for last, error in (
            (Check("/a", 9), BadVersionError),
            (Create("/a"), NodeExistsError),
            (Create("/x/y"), NoNodeError),
        ):
            with pytest.raises(error):
                await store.multi([SetData("/a", b"2", 0), Create("/a/b"), Create("/c", is_sequential=True), last])
            assert before == {
                path: (node.data, node.version, dict(node.children)) for path, node in world.tree.nodes.items()
            }

    play(test)


def test_write_over_another_version_is_refused() -> None:
    async def test() -> None:
        store, _ = await World().store()
        await store.create("/a")
        assert await store.set("/a", b"1", 0) == 1
        with pytest.raises(BadVersionError):
            await store.set("/a", b"2", 0)

    play(test)


def test_watch_fires_once_and_before_a_read_shows_the_change() -> None:
    async def test() -> None:
        world = World()
        (store, _), (other, _) = await world.store(), await world.store("broker-2")
        await store.create("/a")
        heard: list[str] = []
        await store.get("/a", lambda event: heard.append(event.kind))
        await other.set("/a", b"1")
        while (await store.get("/a")).version == 0:
            assert heard == []
        assert heard == ["data_changed"]
        await other.set("/a", b"2")
        await store.poll()
        assert heard == ["data_changed"]

    play(test)


@pytest.mark.parametrize("how", ["stopped", "dead", "cut off"])
def test_session_of_a_silent_process_ends_with_its_nodes(how: str) -> None:
    async def test() -> None:
        world = World()
        (store, process), (other, _) = await world.store(), await world.store("broker-2")
        states: list[str] = []
        store.listen(states.append)
        await store.create("/mine", is_ephemeral=True)
        await asyncio.sleep(5 * SESSION_TIMEOUT_S)
        gone: list[str] = []
        assert await other.exists("/mine", lambda event: gone.append(event.kind)) == 0
        process.is_stopped, process.is_alive = how == "stopped", how != "dead"
        if how == "cut off":
            world.network.cut_both_ways("broker-1", NAME)
        await asyncio.sleep(2 * SESSION_TIMEOUT_S)
        assert gone == ["deleted"]
        assert states in ([], ["suspended"])
        world.network.heal()
        if how == "stopped":
            in_world(asyncio.get_running_loop().call_soon, process.go_on)
        await asyncio.sleep(2 * SESSION_TIMEOUT_S)
        assert (states[-1:] == [EXPIRED]) == (how != "dead")

    play(test)


def test_call_over_a_cut_link_ends_and_is_not_applied() -> None:
    async def test() -> None:
        world = World()
        store, _ = await world.store()
        world.network.cut_both_ways("broker-1", NAME)
        with pytest.raises(StoreUnavailableError):
            await store.create("/a")
        assert "/a" not in world.tree.nodes

    play(test)


# ---- connections
class Machine:
    """As much of a node as a connection sees."""

    def __init__(self, process: Process) -> None:
        self.name = process.name
        self.has_power = True
        self.life: Any = SimpleNamespace(is_listening=True, connections=[])


@pytest.mark.parametrize("how", ["dies", "loses its power", "is cut off and dies"])
def test_held_connection_ends_when_the_process_dies_and_is_heard_to(how: str) -> None:
    async def test() -> None:
        machine = Machine(Process("broker-2"))
        world: Any = SimpleNamespace(network=Network(Random(1)), nodes={2: machine}, is_over=False)
        reader, _ = await open_connection(world, "broker-2", 9092)
        ended = asyncio.get_running_loop().create_task(reader.read(1))
        if how == "is cut off and dies":
            world.network.cut_both_ways("", "broker-2")
        if how != "loses its power":
            for connection in machine.life.connections:
                connection.close()
        await asyncio.sleep(5)
        assert ended.done() == (how == "dies")
        world.network.heal()
        await asyncio.sleep(5)
        assert ended.done() == (how != "loses its power")
        ended.cancel()

    play(test)


def test_connection_is_refused_by_a_machine_alone() -> None:
    """Without power, or over a cut link, nothing is said."""

    async def test() -> None:
        machine = Machine(Process("broker-2"))
        world: Any = SimpleNamespace(network=Network(Random(1)), nodes={2: machine}, is_over=False)
        machine.life = None
        with pytest.raises(ConnectionRefusedError):
            await open_connection(world, "broker-2", 9092)
        machine.has_power = False
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(open_connection(world, "broker-2", 9092), 10)
        machine.has_power = True
        world.network.cut_one_way("broker-2", "")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(open_connection(world, "broker-2", 9092), 10)

    play(test)
