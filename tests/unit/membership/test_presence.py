"""A broker whose process is gone is noticed by its refused connections, and by nothing else (H1, H5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from world import until

from kafkastore.interbroker.dialer import PLAIN, Connection
from kafkastore.membership import presence
from kafkastore.membership.presence import Presence
from kafkastore.metadata.image import BrokerImage


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "REFUSAL_INTERVAL_S", 0.01)
    monkeypatch.setattr(presence, "RETRY_S", 0.01)


class _Process:
    """A listener that accepts connections and never sends a byte."""

    def __init__(self) -> None:
        self.connections: list[asyncio.StreamWriter] = []
        self.taken = 0
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        async def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.taken += 1
            self.connections.append(writer)

        self._server = await asyncio.start_server(take, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    def close_connections(self) -> None:
        for writer in self.connections:
            writer.close()
        self.connections.clear()

    async def die(self) -> None:
        assert self._server is not None
        self._server.close()
        self.close_connections()

    def image(self, node_id: int) -> BrokerImage:
        return BrokerImage(node_id, None, (("CLIENTS", "127.0.0.1", 1), ("BROKERS", "127.0.0.1", self.port)))


class _Lasting:
    """A connection that the other broker closes after this time."""

    def __init__(self, lasts_s: float) -> None:
        self._lasts_s = lasts_s

    async def until_closed(self) -> None:
        await asyncio.sleep(self._lasts_s)

    def close(self) -> None:
        """It is."""


class _Told:
    """Records the calls of ``on_absent``."""

    def __init__(self) -> None:
        self.absent: list[int] = []

    async def __call__(self, node_id: int) -> None:
        self.absent.append(node_id)


async def test_dead_process_is_reported_until_the_broker_is_no_longer_known() -> None:
    process, told = _Process(), _Told()
    await process.start()
    watching = Presence(1, "BROKERS", told)
    watching.update([process.image(1), process.image(2)])
    await until(lambda: process.taken == 1)  # no connection to itself
    assert told.absent == []
    await process.die()
    await until(lambda: told.absent[:2] == [2, 2])
    watching.update([process.image(1)])
    count = len(told.absent)
    await asyncio.sleep(0.05)
    assert len(told.absent) <= count + 1
    await watching.stop()


async def test_broker_that_moved_to_another_address_is_watched_there_alone() -> None:
    before, now, told = _Process(), _Process(), _Told()
    await before.start()
    await now.start()
    watching = Presence(1, "BROKERS", told)
    watching.update([before.image(2)])
    await until(lambda: before.taken == 1)
    watching.update([now.image(2)])
    await until(lambda: now.taken == 1)
    await before.die()
    watching.update([now.image(2)])
    now.close_connections()
    await until(lambda: now.taken == 2)
    assert (before.taken, now.taken, told.absent) == (1, 2, [])
    await watching.stop()
    await now.die()


async def test_closed_connection_alone_is_no_sign_of_death() -> None:
    process, told = _Process(), _Told()
    await process.start()
    watching = Presence(1, "BROKERS", told)
    watching.update([process.image(2)])
    for taken in range(1, 4):  # as connections.max.idle.ms does
        await until(lambda taken=taken: process.taken == taken)  # type: ignore[misc]
        process.close_connections()
    await until(lambda: process.taken == 4)
    assert told.absent == []
    await watching.stop()
    await process.die()


async def test_broker_that_cannot_be_reached_is_left_to_its_session() -> None:
    told, tried = _Told(), 0

    async def no_route(*_: object) -> Connection:
        nonlocal tried
        tried += 1
        raise OSError(113, "No route to host")

    watching = Presence(1, "BROKERS", told, no_route)
    watching.update([_Process().image(2)])
    await until(lambda: tried > 3)
    assert told.absent == []
    await watching.stop()


async def test_single_refused_connection_is_not_reported() -> None:
    told, tried = _Told(), 0

    async def flapping(*_: object) -> Connection:
        nonlocal tried
        tried += 1
        if tried % 2:
            raise ConnectionRefusedError(111, "Connection refused")
        raise OSError(110, "Connection timed out")

    watching = Presence(1, "BROKERS", told, flapping)
    watching.update([_Process().image(2)])
    await until(lambda: tried > 6)
    assert told.absent == []
    await watching.stop()


async def test_broker_that_others_reach_is_not_reported_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:  # H5
    """A firewall that refuses connections looks like a dead process: after each fencing the broker is back at once."""
    monkeypatch.setattr(presence, "TELL_LIMIT_S", 0.1)
    told, process, is_cut = _Told(), _Process(), True
    await process.start()

    async def watch(host: str, port: int, client_id: str) -> Connection:
        if is_cut:
            raise ConnectionRefusedError(111, "Connection refused")
        return await PLAIN.watch(host, port, client_id)

    watching = Presence(1, "BROKERS", told, watch)
    watching.update([process.image(2)])
    await until(lambda: len(told.absent) > 1)
    for _ in range(20):  # the broker is fenced and registers again
        watching.update([])
        watching.update([process.image(2)])
        await asyncio.sleep(0.02)
    count = len(told.absent)
    await asyncio.sleep(0.1)
    assert len(told.absent) == count
    is_cut = False
    await until(lambda: process.taken == 1)
    await process.die()
    is_cut = True
    await until(lambda: len(told.absent) > count)
    await watching.stop()


async def test_listener_that_takes_no_more_connections_is_not_stormed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``max.connections`` reached a broker closes each new one at once."""
    monkeypatch.setattr(presence, "RETRY_S", 60)
    told, tried = _Told(), 0

    async def full(*_: object) -> Any:
        nonlocal tried
        tried += 1
        return _Lasting(0)

    watching = Presence(1, "BROKERS", told, full)
    watching.update([_Process().image(2)])
    await until(lambda: tried > 1)
    await asyncio.sleep(0.1)
    assert tried == 2  # a connection that ends is followed by one more at once
    assert told.absent == []
    await watching.stop()


async def test_broker_that_dies_again_soon_after_it_came_back_is_missed_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once a fail-over took a second longer when a broker had died twice within a second of its start."""
    monkeypatch.setattr(presence, "RETRY_S", 60)
    monkeypatch.setattr(presence, "CLOSED_AT_ONCE_S", 0.02)
    told, lives = _Told(), 0

    async def short_life(*_: object) -> Any:
        nonlocal lives
        lives += 1
        if lives > 3:
            raise ConnectionRefusedError
        return _Lasting(0.1)

    watching = Presence(1, "BROKERS", told, short_life)
    watching.update([_Process().image(2)])
    await until(lambda: bool(told.absent))
    await watching.stop()
