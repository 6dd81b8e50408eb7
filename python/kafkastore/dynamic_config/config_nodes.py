"""Changes of nodes below ``/config/<kind>``, many at once, each made from what its node has.

A node is read, changed, and written with the version that was read, in one ``multi`` with the notice to all brokers
(``changes.py``). Up to :data:`TOGETHER` nodes share a ``multi``; when another writer was faster at one of them, each of
them is changed for itself, from what it has then. A change that is refused, or whose node is malformed, fails nothing
but itself. A node of several parts (``alice/clients/app``) gets the nodes above it.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from kafkastore.errors import KafkastoreError, RequestTimedOutError
from kafkastore.metadata.batches import size_of
from kafkastore.metadata.node_content import InvalidNodeError
from kafkastore.metadata.nodes import CONFIG_CHANGES, config_notices, decode_config, encode_config
from kafkastore.metadata.store import (
    READ_AT_ONCE,
    BadVersionError,
    Create,
    NodeExistsError,
    NoNodeError,
    SetData,
    StoreError,
    parent_of,
)
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from kafkastore.metadata.store import MetadataStore, Node, Operation

    Edit = Callable[[dict[str, str]], dict[str, str]]
    """The pairs that a node has from now on, of those that it has. Raises KafkastoreError to refuse."""

TOGETHER: Final = 500
"""Nodes that one ``multi`` changes at most; what is read for them is held meanwhile."""

ATTEMPTS: Final = 10
"""How often a change is made from a node's newest content before it is given up: other writers change the node."""

NOTICE_BYTES: Final = 512
"""Of a notice in a request, beside the names that it has."""


async def edit_nodes(
    store: MetadataStore, kind: str, edits: Mapping[str, Edit]
) -> dict[str, dict[str, str] | KafkastoreError]:
    """Changes ``/config/<kind>/<name>`` for each name. Returns what the node has then, or why it was not changed; after
    a StoreError all that are left have that error, and the first of them may have been written."""
    work = _Edits(store, kind, edits)
    try:
        await work.run()
    except StoreError as error:
        for name in edits:
            work.outcomes.setdefault(name, error.with_traceback(None))
    return work.outcomes


async def read_nodes(store: MetadataStore, root: str, names: Sequence[str]) -> AsyncIterator[dict[str, bytes | None]]:
    """What ``<root>/<name>`` has for each name, None for a node that does not exist, some at a time: what is made of
    them before the next are asked for is of the newest that was written."""
    turn = Turn()
    for at in range(0, len(names), READ_AT_ONCE):
        some = names[at : at + READ_AT_ONCE]
        nodes = await store.get_many([f"{root}/{name}" for name in some])
        yield {name: None if node is None else node.data for name, node in zip(some, nodes, strict=True)}
        await turn.give_way()


async def take_over(
    store: MetadataStore,
    root: str,
    written: Mapping[str, dict[str, str]],
    take: Callable[[Mapping[str, bytes | None]], None],
) -> None:
    """Has ``take`` take over the nodes that were just written, as they are now; as they were written when the store
    does not answer any more."""
    left = dict(written)
    try:
        async for found in read_nodes(store, root, list(written)):
            take(found)
            for name in found:
                del left[name]
    except StoreError:
        take({name: encode_config(content) for name, content in left.items()})


class ConcurrentChanges:
    """The names that are taken over while all nodes of a kind are read: what was read of these is older."""

    def __init__(self) -> None:
        self._open: list[set[str]] = []

    @contextmanager
    def names(self) -> Iterator[set[str]]:
        """A set that :meth:`note` adds to as long as the block lasts."""
        found: set[str] = set()
        self._open.append(found)
        try:
            yield found
        finally:
            self._open.remove(found)

    def note(self, names: Iterable[str]) -> None:
        for one in self._open:
            one.update(names)


_LOCKS: Final[WeakKeyDictionary[MetadataStore, asyncio.Lock]] = WeakKeyDictionary()
"""Changes of one broker wait for each other: many clients that change one node would else use up its attempts."""


class _Edits:
    """One call of :func:`edit_nodes`."""

    def __init__(self, store: MetadataStore, kind: str, edits: Mapping[str, Edit]) -> None:
        self._store = store
        self._kind = kind
        self._edits = edits
        self._root = f"/config/{kind}"
        self._there = {self._root}
        """Nodes above others that exist."""
        self.outcomes: dict[str, dict[str, str] | KafkastoreError] = {}

    async def run(self) -> None:
        for path in (self._root, CONFIG_CHANGES):
            await self._store.ensure_path(path)
        names = sorted(self._edits)  # a user before the user's clients
        for at in range(0, len(names), TOGETHER):
            async with _LOCKS.setdefault(self._store, asyncio.Lock()):
                for name in await self._write(names[at : at + TOGETHER]):
                    await self._write_alone(name)

    async def _write_alone(self, name: str) -> None:
        for _ in range(ATTEMPTS):
            if not await self._write([name]):
                return
        self.outcomes[name] = RequestTimedOutError(f"{self._root}/{name} is changed by others all the time")

    async def _write(self, names: list[str]) -> list[str]:
        """Returns the names that are left: another writer has changed one of them meanwhile."""
        nodes = dict(zip(names, await self._store.get_many([f"{self._root}/{name}" for name in names]), strict=True))
        await self._find_above([name for name in names if nodes[name] is None])
        left: list[str] = []
        batch: list[Operation] = []
        made: dict[str, dict[str, str]] = {}
        size = NOTICE_BYTES
        async for name in Turn().each(names):
            after = self._after(name, nodes[name])
            if after is None:
                continue
            operations = self._operations(f"{self._root}/{name}", nodes[name], after)
            more = sum(map(size_of, operations)) + len(name) + 4
            if batch and size + more > self._store.batch_bytes:
                left += await self._send(batch, made)
                batch, made, size = [], {}, NOTICE_BYTES
            batch += operations
            made[name] = after
            size += more
        return left + await self._send(batch, made)

    def _after(self, name: str, node: Node | None) -> dict[str, str] | None:
        """What a node has after its change; None, with an outcome, when nothing is to be written."""
        try:
            before = {} if node is None else decode_config(node.data)
            after = self._edits[name](dict(before))
        except InvalidNodeError:  # without the error, which has a part of the node
            path = f"{self._root}/{name}"
            self.outcomes[name] = KafkastoreError(f"{path} in the metadata store is malformed; repair or delete it")
            return None
        except KafkastoreError as error:
            self.outcomes[name] = error.with_traceback(None)
            return None
        if after == before:
            self.outcomes[name] = after
            return None
        return after

    def _operations(self, path: str, node: Node | None, after: dict[str, str]) -> list[Operation]:
        """The writes that a change needs."""
        if node is not None:
            return [SetData(path, encode_config(after), node.version)]
        above = [Create(one, b"") for one in self._above(path) if one not in self._there]
        self._there.update((*self._above(path), path))
        return [*above, Create(path, encode_config(after))]

    def _above(self, path: str) -> list[str]:
        """The nodes between the root and a node, from the top."""
        found: list[str] = []
        while (path := parent_of(path)) != self._root:
            found.append(path)
        return found[::-1]

    async def _find_above(self, names: list[str]) -> None:
        """Learns which nodes there are above these."""
        above = dict.fromkeys(one for name in names if "/" in name for one in self._above(f"{self._root}/{name}"))
        paths = [path for path in above if path not in self._there]
        found = await self._store.get_many(paths)
        self._there.update(path for path, node in zip(paths, found, strict=True) if node is not None)

    async def _send(self, batch: list[Operation], made: dict[str, dict[str, str]]) -> list[str]:
        if not made:
            return []
        try:
            await self._store.multi([*batch, *config_notices(self._kind, list(made))])
        except (BadVersionError, NodeExistsError, NoNodeError):
            self._there = {self._root}
            return list(made)
        self.outcomes |= made
        return []
