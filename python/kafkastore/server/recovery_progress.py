"""A progress line on stderr while the logs are opened, when that takes longer than :data:`FIRST_LOOK_S`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from kafkastore._core import RecoveryProgress

FIRST_LOOK_S = 0.5
"""A start that is faster than this prints nothing."""

LOOK_INTERVAL_S = 0.2
BAR_WIDTH = 30


async def show_progress(
    opening: asyncio.Future[Any], stopping: Coroutine[Any, Any, Any], progress: Callable[[], RecoveryProgress]
) -> None:
    """Waits until ``opening`` or ``stopping`` ends. Raises the exception of ``opening``, if it has one."""
    stopped = asyncio.ensure_future(stopping)
    try:
        await _show_until_either(opening, stopped, progress)
    finally:
        stopped.cancel()
    if opening.done():
        await opening


async def _show_until_either(
    opening: asyncio.Future[Any], stopped: asyncio.Future[Any], progress: Callable[[], RecoveryProgress]
) -> None:
    done, _ = await asyncio.wait([opening, stopped], timeout=FIRST_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
    is_shown = False
    while not done:
        line = progress_line(progress())
        if sys.stderr.isatty():
            sys.stderr.write("\r" + line)
            sys.stderr.flush()
            is_shown = True
        done, _ = await asyncio.wait([opening, stopped], timeout=LOOK_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED)
    if is_shown:
        sys.stderr.write("\r" + progress_line(progress()) + "\n")


def progress_line(so_far: RecoveryProgress) -> str:
    """``Recovering [#####     ] 512/1000 logs, 12/34 segments``; by segments when any must be checked, else by logs."""
    logs = f"{so_far.logs_loaded}/{so_far.logs} logs"
    segments = f"{so_far.segments_checked}/{so_far.segments_to_check} segments"
    if so_far.segments_to_check:
        share = so_far.segments_checked / so_far.segments_to_check
    else:
        share = so_far.logs_loaded / so_far.logs if so_far.logs else 1.0
    filled = round(min(share, 1.0) * BAR_WIDTH)
    bar = "#" * filled + " " * (BAR_WIDTH - filled)
    return f"Recovering [{bar}] {logs}, {segments}"
