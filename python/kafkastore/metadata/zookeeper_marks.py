"""The mark of a store in ZooKeeper: ``/kafkastore/store`` has its identity and its generation (``marks.py``).

ZooKeeper's own numbers do not serve: an ensemble that was put back from an older snapshot gives them again, or begins a
new epoch above all of them. So a broker that writes a mark to its log directories first raises the generation, when
something has changed since it was last raised. The changes after that, of a few seconds at most, have no generation
yet.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from kafkastore.metadata.marks import StoreMark
from kafkastore.metadata.node_content import json_object, number, text
from kafkastore.metadata.nodes import new_id
from kafkastore.metadata.store import BadVersionError, NodeExistsError, NoNodeError

if TYPE_CHECKING:
    from kafkastore.metadata.store import MetadataStore

    class _Store(MetadataStore, Protocol):
        async def last_changes(self, path: str) -> tuple[int, int]: ...


PATH: Final = "/kafkastore/store"

_MAX_GENERATION: Final = 2**63 - 1


class ZookeeperMarks:
    """See the module. Runs on the loop."""

    def __init__(self, store: _Store) -> None:
        self._store = store
        self._known: StoreMark | None = None

    async def read(self) -> StoreMark | None:
        """The mark of the store; None when the store never had one. Raises InvalidNodeError."""
        await self._store.poll()  # a server that is behind would show an older mark
        try:
            self._known = _decode((await self._store.get(PATH)).data)
        except NoNodeError:
            return None
        return self._known

    async def raise_if_changed(self) -> StoreMark:
        """Raises InvalidNodeError."""
        while True:
            try:
                last, of_mark = await self._store.last_changes(PATH)
                node = await self._store.get(PATH)
            except NoNodeError:
                await self._store.ensure_path("/kafkastore")
                with suppress(NodeExistsError):
                    await self._store.create(PATH, _encode(StoreMark(new_id().hex(), 1)))
                continue
            mark = self._known = _decode(node.data)
            if last <= of_mark:
                return mark
            raised = StoreMark(mark.store, mark.generation + 1)
            with suppress(BadVersionError):  # another broker was faster
                await self._store.set(PATH, _encode(raised), node.version)
                self._known = raised
                return raised

    def of_change(self) -> StoreMark:
        """The mark of a change that was just written: it has the next generation."""
        known = self._known or StoreMark("", 0)
        return StoreMark(known.store, known.generation + 1)


def _encode(mark: StoreMark) -> bytes:
    return json.dumps({"version": 1, "id": mark.store, "generation": mark.generation}, separators=(",", ":")).encode()


def _decode(data: bytes) -> StoreMark:
    content = json_object(data)
    return StoreMark(text(content, "id"), number(content, "generation", 0, _MAX_GENERATION))
