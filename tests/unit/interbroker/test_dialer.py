"""Connections to other brokers: how long one whose session ends is used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from world import run

from kafkastore.interbroker.dialer import Dialer

if TYPE_CHECKING:
    from kafkastore.interbroker.dialer import Connection

ANSWER = b"proven"


class Exchange:
    """A proof that one answer completes, of a session with this lifetime."""

    MAX_ANSWER_BYTES = 100
    is_at_handshake = False

    def __init__(self, lifetime_ms: int) -> None:
        self.lifetime_ms = lifetime_ms

    def take(self, answer: bytes) -> tuple[bytes | None, int]:
        assert answer == ANSWER
        return None, self.lifetime_ms


class Login:
    is_secret = False
    is_required = True

    def __init__(self, lifetime_ms: int) -> None:
        self.lifetime_ms = lifetime_ms

    def begin(self, _: str) -> tuple[Exchange, bytes]:
        return Exchange(self.lifetime_ms), b"first"


class Writer:
    """Takes what is written, and keeps none of it."""

    def write(self, _: bytes) -> None:
        """The other broker reads it at once."""

    async def drain(self) -> None:
        """Never full."""


async def opened(lifetime_ms: int) -> Connection:
    """A connection to a broker whose sessions have this lifetime."""

    async def answering(_host: str, _port: int) -> Any:
        reader = asyncio.StreamReader()
        reader.feed_data(len(ANSWER).to_bytes(4) + ANSWER)
        return reader, Writer()

    login: Any = Login(lifetime_ms)
    return await Dialer(login=login, open_connection=answering).open("other", 9092, "controller-1")


def test_connection_is_replaced_after_nine_tenths_of_its_session() -> None:  # KIP-368
    async def body() -> None:
        loop = asyncio.get_running_loop()
        before = loop.time()
        ends = (await opened(lifetime_ms=60_000)).ends
        assert ends is not None
        assert before + 54 <= ends <= loop.time() + 54

    run(body)


def test_connection_whose_session_never_ends_is_never_replaced() -> None:
    async def body() -> None:
        assert (await opened(lifetime_ms=0)).ends is None

    run(body)
