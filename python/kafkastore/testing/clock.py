"""The clock of a test's brokers: the system's, ahead by as much as the test has turned it.

``advance`` turns it for every running broker that has it, and returns when what became due has happened
(``turned_time.py``). It never goes back, and only what a broker decides by the time is turned: connections, the network
and the metadata store go by the system's time. Records carry the time of the client that made them.
"""

from __future__ import annotations

import time
from typing import Protocol


class Turned(Protocol):
    """Who is told of a turn; the calls return when what follows has happened."""

    def before_turn(self, by_ms: int) -> None: ...
    def after_turn(self) -> None: ...


class Clock:
    """The clock of brokers, ahead of the system's by as much as the test has turned it. May be used from any thread."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.turned: list[Turned] = []
        """The running brokers that have this clock."""

    def now_ms(self) -> int:
        """Milliseconds since 1970, as the brokers see them."""
        return time.time_ns() // 1_000_000 + self.ahead_ms

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Turns the clock. Returns when retention has run, sessions and transactions have timed out, offsets have
        expired. Raises ValueError for less than a millisecond."""
        by_ms = int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds)
        if by_ms < 1:
            raise ValueError(f"advance: {by_ms} ms; a clock goes forward, by a millisecond at least")
        brokers = list(self.turned)
        for one in brokers:
            one.before_turn(by_ms)
        self.ahead_ms += by_ms
        for one in brokers:
            one.after_turn()
