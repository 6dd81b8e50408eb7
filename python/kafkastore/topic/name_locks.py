"""Locks of topic names: at most one change of a topic is under way at a time.

The locks of several names are always taken in sorted order, so that two changes cannot wait for each other. A lock
exists only while a change holds it or waits for it. This module never looks at a topic.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable


class NameLocks:
    """See the module. Runs on the loop."""

    def __init__(self) -> None:
        self._locks: dict[str, _NameLock] = {}

    @property
    def names(self) -> list[str]:
        """The names that a change holds or waits for, sorted."""
        return sorted(self._locks)

    @asynccontextmanager
    async def held(self, names: Iterable[str]) -> AsyncIterator[None]:
        """Holds the locks of these names."""
        turn = Turn()
        wanted: list[tuple[str, _NameLock]] = []
        held = 0
        try:
            async for name in turn.each(await turn.sorted(set(names))):
                lock = self._locks.setdefault(name, _NameLock())
                lock.users += 1
                wanted.append((name, lock))
                await lock.acquire()
                held += 1
            yield
        finally:
            for number, (name, lock) in enumerate(wanted):
                if number < held:
                    lock.release()
                lock.users -= 1
                if not lock.users:
                    del self._locks[name]


class _NameLock(asyncio.Lock):
    """The lock of one topic name; ``users`` hold it or wait for it."""

    users = 0
