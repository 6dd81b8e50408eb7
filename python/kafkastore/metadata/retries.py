"""Work that follows changes in the store: it runs after each change, once for changes that come together, and again
until it succeeds.

Never runs twice at a time, and never ends by an error: what comes after a bug must be heard of, too.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkastore.errors import KafkastoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger("kafkastore.metadata.retries")

RETRY_S: Final = 1.0


class RetriedWork:
    """``work`` under a name for the log, as the path that it follows. Runs on the loop."""

    def __init__(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        self._work = work
        self._name = name
        self._is_due = False
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        """The work is done soon, also when it is being done now."""
        self._is_due = True
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def _run(self) -> None:
        while self._is_due:
            self._is_due = False
            try:
                await self._work()
                continue
            except KafkastoreError as error:
                logger.warning("Changes of %s cannot be read yet: %s", self._name, error)
            except Exception:
                logger.exception("Changes of %s could not be taken over", self._name)
            self._is_due = True
            await asyncio.sleep(RETRY_S)
        self._task = None
