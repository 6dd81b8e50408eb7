"""Freed memory goes back to the operating system.

Place: one of the housekeeping jobs (``manager``). The allocator keeps the memory that large requests freed; after 500
members with a megabyte of metadata each that was up to a gigabyte for good. Freed memory stays resident, so resident
memory does not show how much is free: the measure is the least resident memory that this process ever had. Cases of a
look, every ``INTERVAL_MS``:

- A  at most ``SLACK_BYTES`` above the least, or next to no CPU time since memory was given back last: does nothing.
- B  the process is at rest and has ``SLACK_BYTES`` more than after memory was given back last: gives memory back.
- C  any other: gives memory back at every ``LOOKS``-th look, which is cheap when there is nothing to give.

Never: waits for the loop, or limits how much memory is used.
"""

from __future__ import annotations

import time
from typing import Final

from kafkastore._core import give_back_memory, resident_bytes

INTERVAL_MS: Final = 5000
SLACK_BYTES: Final = 16 * 1024 * 1024
REST_SHARE: Final = 0.1  # of one processor
NEXT_TO_NOTHING_S: Final = 0.1  # of CPU
LOOKS: Final = 5  # 25 s


class FreeMemory:
    __slots__ = ("_cpu_s", "_given_back_cpu_s", "_left_bytes", "_looks", "_min_bytes")

    def __init__(self) -> None:
        self._min_bytes = self._left_bytes = resident_bytes()  # the least ever; the rest after the last giving back
        self._cpu_s = self._given_back_cpu_s = time.process_time()  # at the last look; when memory was given back
        self._looks = 0  # looks since memory was given back last

    def look(self) -> None:
        """Blocking, some milliseconds when there is much to give back."""
        resident, cpu_s = resident_bytes(), time.process_time()
        is_at_rest = cpu_s - self._cpu_s < REST_SHARE * INTERVAL_MS / 1000
        self._cpu_s = cpu_s
        self._looks += 1
        self._min_bytes = min(self._min_bytes, resident)
        was_idle = cpu_s - self._given_back_cpu_s < NEXT_TO_NOTHING_S
        if was_idle or resident <= self._min_bytes + SLACK_BYTES:  # A
            return
        has_grown = resident > self._left_bytes + SLACK_BYTES
        if (is_at_rest and has_grown) or self._looks >= LOOKS:  # B, C
            give_back_memory()
            self._looks = 0
            self._given_back_cpu_s = cpu_s
            self._left_bytes = resident_bytes()
