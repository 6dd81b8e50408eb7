"""The figures of ``kafka-producer-perf-test``: counted record by record, printed for an interval and at the end in
Kafka's words."""

from __future__ import annotations

import sys
import time
from collections import Counter
from typing import Final, NamedTuple

MEGABYTE: Final = 1024.0 * 1024.0
PERCENTILES: Final = (0.5, 0.95, 0.99, 0.999)


class _Window(NamedTuple):
    """The records since the last line; ``latency_ms`` is the sum of all."""

    records: int = 0
    size_bytes: int = 0
    latency_ms: int = 0
    max_ms: int = 0

    def plus(self, count: int, size_bytes: int, latency_ms: int) -> _Window:
        return _Window(
            self.records + count,
            self.size_bytes + size_bytes,
            self.latency_ms + latency_ms * count,
            max(self.max_ms, latency_ms),
        )


class PerfFigures:
    """Records that were acknowledged, and how long each took. ``is_steady``: only those after the warm-up."""

    def __init__(self, interval_ms: int, *, is_steady: bool = False) -> None:
        self.count = 0
        self.is_printing = True
        self._interval_ms = interval_ms
        self._is_steady = is_steady
        self._start = self._window_start = time.time()
        self._bytes = 0
        self._latencies: Counter[int] = Counter()
        self._window = _Window()

    def record(self, count: int, size_bytes: int, latency_ms: int) -> None:
        """So many records of so many bytes in all were acknowledged, each after this time."""
        self.count += count
        self._bytes += size_bytes
        self._latencies[latency_ms] += count
        window = self._window = self._window.plus(count, size_bytes, latency_ms)
        now = time.time()
        if (now - self._window_start) * 1000 >= self._interval_ms:
            if self._is_steady and self.count == window.records:
                sys.stdout.write("In steady state.\n")
            if self.is_printing:
                self._print_window(now)
            self._window_start = now
            self._window = _Window()

    def _print_window(self, now: float) -> None:
        elapsed_s, window = now - self._window_start, self._window
        sys.stdout.write(
            f"{window.records} records sent, {window.records / elapsed_s:.1f} records/sec "
            f"({window.size_bytes / elapsed_s / MEGABYTE:.2f} MB/sec), "
            f"{window.latency_ms / window.records:.1f} ms avg latency, {window.max_ms:.1f} ms max latency.\n"
        )
        sys.stdout.flush()

    def print_total(self) -> None:
        elapsed_s = max(time.time() - self._start, 0.001)
        whole_ms = sum(latency * count for latency, count in self._latencies.items())
        percentiles = [f"{value} ms {100 * of:g}th" for of, value in zip(PERCENTILES, self._percentiles(), strict=True)]
        sys.stdout.write(
            f"{self.count}{' steady state' if self._is_steady else ''} records sent, "
            f"{self.count / elapsed_s:f} records/sec ({self._bytes / elapsed_s / MEGABYTE:.2f} MB/sec), "
            f"{whole_ms / self.count if self.count else float('nan'):.2f} ms avg latency, "
            f"{max(self._latencies, default=0):.2f} ms max latency, {', '.join(percentiles)}.\n"
        )

    def _percentiles(self) -> list[int]:
        """Of all records; Kafka's tool looks at 500,000 of them at most."""
        ordered = sorted(self._latencies.items())
        found, seen, at = [], 0, 0
        for of in PERCENTILES:
            rank = int(of * self.count)
            while at < len(ordered) and seen + ordered[at][1] <= rank:
                seen += ordered[at][1]
                at += 1
            found.append(ordered[min(at, len(ordered) - 1)][0] if ordered else 0)
        return found
