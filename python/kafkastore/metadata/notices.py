"""How a broker hears that others have changed something: sequential nodes in one directory, as Kafka's
``/config/changes`` and ``/kafka-acl-changes``.

A change is written together with a node that names what has changed. Every broker watches the directory and hands the
content of new nodes on, in order; a node that comes twice must do no harm. The controller's broker keeps the newest
:data:`KEPT` nodes and deletes older ones; a broker that finds so many new nodes at once may have missed some, and reads
everything. So does a broker that begins to watch.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kafkastore.metadata.retries import RetriedWork
from kafkastore.metadata.store import NoNodeError, NotEmptyError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from kafkastore.metadata.store import MetadataStore, WatchEvent

KEPT: Final = 100
"""How many nodes stay. Kafka keeps them fifteen minutes."""


class Notices:
    """Watches ``path``. Runs on the loop. ``take(contents)`` takes over the changes that new nodes name, ``take_all()``
    reads everything. ``is_own(name)``: whether this broker wrote the node, and need not read it."""

    def __init__(
        self,
        store: MetadataStore,
        path: str,
        take: Callable[[Sequence[bytes]], Awaitable[None]],
        take_all: Callable[[], Awaitable[None]],
        is_controller: Callable[[], bool],
        is_own: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._store = store
        self._path = path
        self._take = take
        self._take_all = take_all
        self._is_controller = is_controller
        self._is_own = is_own
        self._last_seen = ""
        self._taking_over = RetriedWork(self._take_over, path)

    async def start(self) -> None:
        """Watches from now on; the caller reads everything afterwards. May be called again, for another session."""
        await self._store.ensure_path(self._path)
        self._last_seen = max(await self._store.get_children(self._path, self._on_change), default="")

    async def stop(self) -> None:
        await self._taking_over.stop()

    def _on_change(self, _: WatchEvent) -> None:
        self._taking_over.ask()

    async def _take_over(self) -> None:
        store, path = self._store, self._path
        names = sorted(await store.get_children(path, self._on_change))
        unseen = [name for name in names if name > self._last_seen]
        if len(unseen) >= KEPT:
            await self._take_all()
            self._last_seen = unseen[-1]
        elif unseen:
            try:
                contents = [(await store.get(f"{path}/{name}")).data for name in unseen if not self._is_own(name)]
            except NoNodeError:  # the controller has deleted a node, since many changes came: list the nodes again
                self._taking_over.ask()
                return
            await self._take(contents)
            self._last_seen = unseen[-1]
        if self._is_controller():
            for name in names[:-KEPT]:
                with suppress(NoNodeError, NotEmptyError):  # what somebody has put below it stays
                    await store.delete(f"{path}/{name}")
