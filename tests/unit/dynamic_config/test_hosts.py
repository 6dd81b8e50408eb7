"""Names of hosts in settings: silent and slow name servers, what is forgotten and when, addresses with a scope."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from kafkastore.dynamic_config import hosts as module
from kafkastore.dynamic_config.hosts import Hosts, address_of


def answers(monkeypatch: pytest.MonkeyPatch, known: dict[str, list[str]], gate: threading.Event | None = None) -> None:
    def getaddrinfo(host: str, _: Any) -> list[Any]:
        if host.startswith("silent"):
            threading.Event().wait()
        if gate is not None:
            gate.wait(20)
        if host not in known:
            raise socket.gaierror
        return [(0, 0, 0, "", (address, 0)) for address in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


async def test_addresses_have_no_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, {"a": ["fe80::1%eth0", "10.0.0.1"], "fe80::2%eth0": ["fe80::2%eth0"]})
    assert (address_of("fe80::2%eth0"), address_of("::1"), address_of("a")) == (None, "::1", None)
    hosts = Hosts()
    async with hosts.checked(["a", "fe80::2%eth0", "b", "10.0.0.2"]) as unknown:
        assert unknown == {"b"}
        assert hosts.addresses("a") == ["10.0.0.1", "fe80::1"]
        assert hosts.addresses("fe80::2%eth0") == ["fe80::2"]
        assert hosts.addresses("10.0.0.2") == ["10.0.0.2"]


async def test_what_is_being_checked_or_looked_up_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    answers(monkeypatch, {f"h{at}": [f"10.0.0.{at}"] for at in range(20)}, gate)
    hosts, told = Hosts(), asyncio.Event()
    addresses: list[str] = []

    def note() -> None:
        addresses.extend(hosts.addresses("h19"))
        told.set()

    hosts.look_up("h19", note)
    hosts.look_up("h19", note)

    async def check() -> None:
        async with hosts.checked([f"h{at}" for at in range(19)]) as unknown:
            assert unknown == set()
            hosts.keep(["h19"])
            assert hosts.addresses("h0") == ["10.0.0.0"]

    checking = asyncio.ensure_future(check())
    for _ in range(5):
        await asyncio.sleep(0)
        hosts.keep(())
    gate.set()
    await checking
    await told.wait()
    assert addresses == ["10.0.0.19"], "once"
    hosts.keep(["h19"])
    assert hosts.addresses("h0") == []
    hosts.keep(())
    assert hosts.addresses("h19") == []


async def test_look_ups_of_the_background_delay_no_check_and_silence_ends_a_check_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers(monkeypatch, {"good": ["10.0.0.1"]})
    monkeypatch.setattr(module, "LIMIT_S", 0.3)
    hosts = Hosts()
    for at in range(50):
        hosts.look_up(f"silent{at}", lambda: None)
    await asyncio.sleep(0)
    async with hosts.checked(["good"]) as unknown:
        assert unknown == set()
    begun = asyncio.get_running_loop().time()
    async with hosts.checked([f"silent{at}" for at in range(50)]) as unknown:
        assert len(unknown) == 50
    assert asyncio.get_running_loop().time() - begun < 3, "no other is asked for"
