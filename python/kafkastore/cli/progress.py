"""How far a command is: a bar on a terminal, drawn by rich on stderr and gone when the work is done; nothing elsewhere.

rich is imported when there is a bar to draw.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POLL_S: Final = 0.2
BAR_WIDTH: Final = 30


def progress_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--no-progress`` to a command, which gets a ``shows_progress``."""

    @click.option("--no-progress", is_flag=True, help="No progress bar; there is one only if stderr is a terminal.")
    @wraps(function)
    def with_progress(*arguments: Any, no_progress: bool, **options: Any) -> Any:
        if no_progress or not sys.stderr.isatty():
            return function(*arguments, shows_progress=False, **options)
        from kafkastore.cli.ending import terminated_as_error

        with terminated_as_error():  # the bar hides the cursor, and shows it again at the end
            return function(*arguments, shows_progress=True, **options)

    return with_progress


class Reading(NamedTuple):
    """How much is done of how much, in any unit, and the figures behind the bar."""

    done: float
    total: float
    figures: str


class Bar:
    """Drawn while the block runs; nothing happens unless ``is_shown``."""

    def __init__(self, *, is_shown: bool) -> None:
        self.is_shown = is_shown
        self._drawn: Any = None

    def __enter__(self) -> Self:
        if self.is_shown:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

            self._drawn = Progress(
                BarColumn(BAR_WIDTH),
                TaskProgressColumn(),
                TextColumn("{task.description}", markup=False),
                console=Console(stderr=True),
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._task = self._drawn.add_task("", total=None)
            with suppress(OSError):  # a terminal that is gone is no reason to end
                self._drawn.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn is not None:
            with suppress(OSError):
                self._drawn.stop()

    def show(self, reading: Reading) -> None:
        """Draws it."""
        if self._drawn is None:
            return
        total = max(reading.total, reading.done, 1)
        done = total if reading.total == 0 else reading.done
        with suppress(OSError):
            self._drawn.update(self._task, completed=done, total=total, description=reading.figures, refresh=True)


@contextmanager
def polled(read: Callable[[], Reading | None], *, is_shown: bool) -> Iterator[None]:
    """Shows what ``read`` returns, which a thread calls again and again, while the block runs; None ends it."""
    if not is_shown:
        yield
        return
    is_over = threading.Event()

    def draw(bar: Bar) -> None:
        while not is_over.wait(POLL_S) and (reading := read()) is not None:
            bar.show(reading)

    with Bar(is_shown=True) as bar:
        thread = threading.Thread(target=draw, args=(bar,), name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()
