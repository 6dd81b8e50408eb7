"""Reads of the store with watches that become events of the controller: at most one watch on each node for each
purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkastore.metadata.store import MetadataStore, Node, Watcher, WatchEvent


class WatchedStore:
    """Calls ``notify(event)`` at the next change of a node that was read under that event's name."""

    def __init__(self, store: MetadataStore, notify: Callable[[str], None]) -> None:
        self.store = store
        self._notify = notify
        self._set: set[tuple[str, str]] = set()
        self._noted: dict[str, dict[str, None]] = {}

    def tell(self, event: str) -> None:
        """Notifies of the event as if one of its watches had fired."""
        self._notify(event)

    def note(self, path: str, event: str) -> None:
        """Notes the path for the event, which gets it by :meth:`take_noted`, and notifies of the event."""
        self._noted.setdefault(event, {})[path] = None
        self._notify(event)

    def take_noted(self, event: str, limit: int) -> list[str]:
        """Returns at most ``limit`` of the noted paths; notifies of the event again when there are more."""
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
        """As :meth:`exists`, but the watch also notes the path for the event."""
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
