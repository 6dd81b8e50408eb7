"""How far Spark's jobs are, as a bar on a terminal: tasks done of the tasks of the stages that run.

Polls Spark's status tracker from a thread; asks for nothing that Spark does not know anyway.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

POLL_S = 0.2
BAR_WIDTH = 30


@contextmanager
def bar(spark: SparkSession, what: str, *, is_shown: bool) -> Iterator[None]:
    """Shows the bar on stderr while the block runs, behind ``what``; shows nothing unless ``is_shown``."""
    if not is_shown:
        yield
        return
    over = threading.Event()
    thread = threading.Thread(target=_draw, args=(spark.sparkContext, what, over), name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _draw(context: SparkContext, what: str, over: threading.Event) -> None:
    while not over.wait(POLL_S):
        try:
            done, total = _tasks(context)
        except Exception:  # noqa: BLE001 - the session is ending; the command itself reports why
            return
        filled = round(BAR_WIDTH * done / total) if total else 0
        line = f"[{'#' * filled}{'-' * (BAR_WIDTH - filled)}] {what}: {done} of {total} tasks"
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()


def _tasks(context: SparkContext) -> tuple[int, int]:
    """(tasks done, tasks) of the stages that run now."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    running = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running)
