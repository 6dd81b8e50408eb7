"""Reads of the store with watches that become events of the controller: at most one watch on each node for each
purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.metadata.store import MetadataStore, Node, Watcher, WatchEvent


class WatchedStore:
    """``notify(event)`` is called at the next change of what was read under that event's name."""

    def __init__(self, store: MetadataStore, notify: Callable[[str], None]) -> None:
        self.store = store
        self._notify = notify
        self._set: set[tuple[str, str]] = set()
        self._noted: dict[str, dict[str, None]] = {}

    def tell(self, event: str) -> None:
        """As if a watch of that event had fired."""
        self._notify(event)

    def note(self, path: str, event: str) -> None:
        """The event is to look at this path, see :meth:`take_noted`."""
        self._noted.setdefault(event, {})[path] = None
        self._notify(event)

    def take_noted(self, event: str, limit: int) -> list[str]:
        """Some of what was noted; the event comes again for the rest."""
        noted = self._noted.get(event, {})
        taken = list(noted)[:limit]
        for path in taken:
            del noted[path]
        if noted:
            self._notify(event)
        return taken

    async def get(self, path: str, event: str) -> Node:
        try:
            return await self.store.get(path, self._watcher("data", path, event))
        except BaseException:
            self._set.discard(("data", path))
            raise

    async def exists(self, path: str, event: str) -> int | None:
        try:
            return await self.store.exists(path, self._watcher("data", path, event))
        except BaseException:
            self._set.discard(("data", path))
            raise

    async def exists_noting(self, path: str, event: str) -> int | None:
        """The same, and the event learns which path it was."""
        try:
            return await self.store.exists(path, self._watcher("data", path, event, is_noted=True))
        except BaseException:
            self._set.discard(("data", path))
            self.note(path, event)
            raise

    async def get_children(self, path: str, event: str) -> list[str]:
        try:
            return await self.store.get_children(path, self._watcher("children", path, event))
        except BaseException:
            self._set.discard(("children", path))
            raise

    def _watcher(self, kind: str, path: str, event: str, *, is_noted: bool = False) -> Watcher | None:
        key = (kind, path)
        if key in self._set:
            return None
        self._set.add(key)

        def fired(_: WatchEvent) -> None:
            self._set.discard(key)
            if is_noted:
                self.note(path, event)
            else:
                self._notify(event)

        return fired
