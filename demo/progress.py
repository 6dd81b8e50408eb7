"""A progress bar on a terminal; elsewhere a line at the end of each step."""

from __future__ import annotations

import sys
import time

WIDTH = 30
REDRAW_S = 0.1


class Progress:
    """`update(done)` as often as you like; it draws at most ten times a second."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.started = time.monotonic()
        self._drawn = 0.0
        self._is_terminal = sys.stderr.isatty()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def update(self, done: int, note: str = "") -> None:
        now = time.monotonic()
        if self._is_terminal and now - self._drawn >= REDRAW_S:
            self._drawn = now
            self._draw(done, note)

    def _draw(self, done: int, note: str) -> None:
        filled = WIDTH * done // max(self.total, 1)
        bar = "█" * filled + "·" * (WIDTH - filled)
        rate = done / max(self.seconds, 1e-9)
        sys.stderr.write(f"\r\x1b[K{self.what:<10} {bar} {done:>9,} / {self.total:,}  {rate:>9,.0f}/s  {note}")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        """A line of its own, above the bar."""
        sys.stderr.write(("\r\x1b[K" if self._is_terminal else "") + f"{self.seconds:6.1f} s  {text}\n")
        sys.stderr.flush()

    def finish(self, done: int) -> float:
        """Draws the last state; returns the seconds since the start."""
        seconds = self.seconds
        if self._is_terminal:
            self._draw(done, "")
            sys.stderr.write("\n")
        else:
            sys.stderr.write(f"{self.what}: {done:,} in {seconds:.1f} s\n")
        return seconds
