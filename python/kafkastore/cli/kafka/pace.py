"""Keeps to a rate: Kafka's ``--throughput`` of so many records a second."""

from __future__ import annotations

import time
from typing import Final

CHUNK_S: Final = 0.01
"""How long the records that are sent at once are due for."""
MOST_AT_ONCE: Final = 1000


class Pace:
    """``per_second`` below 0: as fast as it goes."""

    def __init__(self, per_second: float) -> None:
        self._per_second = per_second
        self._start = time.monotonic()

    def at_once(self, left: int) -> int:
        """How many of the records that are left are made together."""
        most = MOST_AT_ONCE if self._per_second < 0 else max(int(self._per_second * CHUNK_S), 1)
        return min(left, most, MOST_AT_ONCE)

    def due_in_s(self, sent: int) -> float:
        """How long to wait before more than ``sent`` records are sent; 0 without a rate. Nothing is ever due at a rate
        of 0, as with Kafka's."""
        if self._per_second < 0:
            return 0.0
        if self._per_second == 0:
            return float("inf")
        return max(self._start + sent / self._per_second - time.monotonic(), 0.0)
