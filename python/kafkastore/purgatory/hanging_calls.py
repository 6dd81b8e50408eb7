"""Calls that another host may delay for ever: a name server, a key server.

Each runs in a daemon thread of its own, a few at once, so neither the broker's own blocking work, which has the loop's
pool, nor the end of the process waits for them. A call that nobody waits for any longer keeps its place until it ends.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

AT_ONCE: Final = 4


class HangingCalls:
    """See the module. One for each purpose: those of one purpose wait for one another. Runs on one loop."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._free = asyncio.Semaphore(at_once)

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Returns what the function returns, or raises what it raises."""
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[T] = loop.create_future()

        def run() -> None:
            try:
                result, error = function(*arguments), None
            except BaseException as failure:  # noqa: BLE001 - it is raised where the answer is awaited
                result, error = None, failure
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(self._end, answered, result, error)

        try:
            threading.Thread(target=run, name="kafkastore-may-hang", daemon=True).start()
        except RuntimeError:  # the process may have no more threads
            self._free.release()
            raise
        return await answered

    def _end(self, answered: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
        self._free.release()
        if answered.done():
            return
        if error is None:
            answered.set_result(result)
        else:
            answered.set_exception(error)
