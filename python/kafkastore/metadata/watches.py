"""One-shot watches of one process, each with the number of the last change that it had seen when it was set.

Changes of a store are numbered (``change``; ZooKeeper's zxid). A watch fires for a change of its node with a higher
number than its own: not for a change that its reader has seen, and for the first one that it has not seen. This module
never reads the store: the store reads the nodes and passes them in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkastore.metadata.store import CHILDREN_CHANGED, CREATED, DATA_CHANGED, DELETED, WatchEvent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkastore.metadata.store import Watcher


class Watch(NamedTuple):
    watcher: Watcher
    seen: int  # the number of the last change that the reader could have seen
    existed: bool


class NodeChanges(NamedTuple):
    """The last changes of a node."""

    changed: int  # the number of the change that created it or set its data
    children_changed: int  # the number of the last change of its children


class Watches:
    """See the module."""

    def __init__(self) -> None:
        self._data: dict[str, list[Watch]] = {}
        self._children: dict[str, list[Watch]] = {}

    def is_empty(self) -> bool:
        return not self._data and not self._children

    def on_data(self, path: str, watch: Watch) -> None:
        self._data.setdefault(path, []).append(watch)

    def on_children(self, path: str, watch: Watch) -> None:
        self._children.setdefault(path, []).append(watch)

    def data_paths(self) -> list[str]:
        return list(self._data)

    def children_paths(self) -> list[str]:
        return list(self._children)

    def clear(self) -> None:
        self._data.clear()
        self._children.clear()

    def fire(self, events: Iterable[WatchEvent], change: float) -> None:
        """Fires and forgets the watches of ``events`` that were set before ``change``, the change that caused these
        events."""
        data, children = self._data, self._children
        for event in events:
            path = event.path
            if path in data and event.kind in (CREATED, DATA_CHANGED, DELETED):
                _fire(data, event, change)
            if path in children and event.kind in (CHILDREN_CHANGED, DELETED):
                _fire(children, event, change)

    def compare_data(self, path: str, found: NodeChanges | None) -> None:
        """Fires the data watches of ``path`` whose readers have not seen the node as it is now."""
        for watch in _take(self._data, path, lambda watch: _data_changed(watch, found)):
            kind = DELETED if found is None else DATA_CHANGED if watch.existed else CREATED
            watch.watcher(WatchEvent(kind, path))

    def compare_children(self, path: str, found: NodeChanges | None) -> None:
        """Fires the children watches of ``path`` whose readers have not seen the children as they are now."""
        kind = DELETED if found is None else CHILDREN_CHANGED
        for watch in _take(self._children, path, lambda watch: found is None or found.children_changed > watch.seen):
            watch.watcher(WatchEvent(kind, path))


def _data_changed(watch: Watch, found: NodeChanges | None) -> bool:
    if found is None:
        return watch.existed
    return not watch.existed or found.changed > watch.seen


def _fire(table: dict[str, list[Watch]], event: WatchEvent, change: float) -> None:
    for watch in _take(table, event.path, lambda watch: change > watch.seen):
        watch.watcher(event)


def _take(table: dict[str, list[Watch]], path: str, is_due: Callable[[Watch], bool]) -> list[Watch]:
    """Removes and returns the due watches of ``path``; before any of them is called, so that it may be set anew."""
    watches = table.get(path)
    if watches is None:
        return []
    due = [watch for watch in watches if is_due(watch)]
    if len(due) == len(watches):
        del table[path]
    elif due:
        table[path] = [watch for watch in watches if watch not in due]
    return due
