"""Calls that hang hold up nobody but those that wait for the same host."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from kafkastore.purgatory.hanging_calls import HangingCalls
from kafkastore.server.loop_lag import ControlLoop


async def test_calls_that_hang_keep_their_places_and_take_no_thread_of_the_pool() -> None:
    calls, hangs = HangingCalls(2), threading.Event()
    hanging = [asyncio.ensure_future(calls.call(hangs.wait)) for _ in range(3)]
    own = asyncio.get_running_loop().run_in_executor
    assert await asyncio.wait_for(asyncio.gather(*(own(None, int, "7") for _ in range(20))), 10) == [7] * 20
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(calls.call(int, "7"), 0.05)
    hanging[0].cancel()
    hangs.set()
    assert await asyncio.gather(*hanging[1:]) == [True, True]
    assert await asyncio.wait_for(calls.call(int, "7"), 10) == 7


def test_what_a_call_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        asyncio.run(HangingCalls().call(int, "x"))


def test_end_of_a_process_does_not_wait_for_a_name_server() -> None:
    program = """
import asyncio, socket, threading
from kafkastore.server.loop_lag import ControlLoop
socket.getaddrinfo = lambda *_, **how: threading.Event().wait()
async def run():
    with __import__("contextlib").suppress(TimeoutError):
        await asyncio.wait_for(asyncio.open_connection("a.name", 1), 0.1)
with asyncio.Runner(loop_factory=ControlLoop) as runner:
    runner.run(run())
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=20)


def test_names_are_looked_up_beside_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def silent(*_: object, **how: int) -> None:
        asked.set()
        threading.Event().wait()

    monkeypatch.setattr("socket.getaddrinfo", silent)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        looking = [asyncio.ensure_future(asyncio.open_connection(f"{number}.name", 1)) for number in range(20)]
        await asyncio.to_thread(asked.wait)
        assert await asyncio.wait_for(loop.run_in_executor(None, int, "7"), 10) == 7
        for one in looking:
            one.cancel()

    with asyncio.Runner(loop_factory=ControlLoop) as runner:
        runner.run(run())
