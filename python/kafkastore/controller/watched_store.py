"""Reads of the store with watches that become events of the controller: at most one watch on each node for each purpose."""

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

    async def get_children(self, path: str, event: str) -> list[str]:
        try:
            return await self.store.get_children(path, self._watcher("children", path, event))
        except BaseException:
            self._set.discard(("children", path))
            raise

    def _watcher(self, kind: str, path: str, event: str) -> Watcher | None:
        key = (kind, path)
        if key in self._set:
            return None
        self._set.add(key)

        def fired(_: WatchEvent) -> None:
            self._set.discard(key)
            self._notify(event)

        return fired
