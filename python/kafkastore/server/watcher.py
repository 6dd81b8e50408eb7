"""What looks at something from time to time, from :meth:`Watcher.watch` to :meth:`Watcher.stop`: certificates, keys of
tokens. What a look raises is logged, and it looks again. Never: knows what is looked at."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

logger = logging.getLogger("kafkastore.server.watcher")

LOOK_S: Final = 2.0
"""How often a watcher looks."""


class Watcher:
    """See the module. Runs on the loop. A subclass has :meth:`look`, and nothing is watched when ``is_idle``."""

    def __init__(self, *, is_idle: bool) -> None:
        self._is_idle = is_idle
        self._task: asyncio.Task[None] | None = None

    async def look(self) -> None:
        raise AssertionError

    def watch(self) -> None:
        if not self._is_idle:
            self._task = asyncio.get_running_loop().create_task(self._watch())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except Exception:  # else it would never look again
                logger.exception("%s will look again", type(self).__name__)
