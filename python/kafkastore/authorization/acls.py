"""The access control lists of the cluster: read from the store, published to the data plane, changed by compare-and-set
(as Kafka's ``AclAuthorizer``).

A change of a pattern reads its node, writes the new content with the node's version, and in the same ``multi`` a notice
to all brokers. When another broker was faster, the change is made again from what that broker wrote. A pattern without
ACLs has no node. A change is in effect on this broker when the method returns, on others when they hear of the notice.

One lock holds a read of a node and what follows from it together, so the copy in memory never goes back to an older
content. An invalid node refuses the start: leaving out its ACLs could allow what they deny. While the broker runs, an
invalid node is reported and the ACLs before it stay in effect.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkastore.acl_words import LITERAL, PREFIXED, AccessControlEntry, AclBindingFilter, ResourcePattern
from kafkastore.authorization.audit_log import AuditLog
from kafkastore.authorization.nodes import CHANGES, ROOTS, decode, decode_notice, encode, notice, path_of
from kafkastore.errors import RequestTimedOutError, StartupError
from kafkastore.metadata.batches import size_of
from kafkastore.metadata.node_content import InvalidNodeError, report
from kafkastore.metadata.notices import Notices
from kafkastore.metadata.store import (
    BadVersionError,
    Create,
    Delete,
    NodeExistsError,
    NoNodeError,
    SetData,
    parent_of,
)
from kafkastore.purgatory.turns import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from kafkastore._core import Security
    from kafkastore.metadata.store import MetadataStore, Node, Operation

    Change = Callable[[frozenset[AccessControlEntry]], frozenset[AccessControlEntry]]

logger = logging.getLogger("kafkastore.authorization.acls")

ATTEMPTS: Final = 20
"""How often a change is made anew because another broker has just changed the same pattern."""

TOGETHER: Final = 50
"""Patterns that one ``multi`` changes at most: fewer than the notices that are kept."""


class Acls:
    """See the module. Runs on the loop."""

    def __init__(self, store: MetadataStore, security: Security, is_controller: Callable[[], bool]) -> None:
        self._store = store
        self.security = security
        self._known: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        self._paths: dict[ResourcePattern, str] = {}
        """Where the node of a known pattern is."""
        self._unpublished: set[ResourcePattern] = set()
        self._lock = asyncio.Lock()
        self._audit = AuditLog()
        self._is_started = False
        self._notices = [
            Notices(store, CHANGES[LITERAL], self._take_literal, self._load, is_controller),
            Notices(store, CHANGES[PREFIXED], self._take_prefixed, self._load, is_controller),
        ]

    async def start(self) -> None:
        """Watches from now on, then reads and publishes all ACLs. May be called again, for another session. The first
        call raises StartupError for an invalid node."""
        for notices in self._notices:
            await notices.start()
        await self._load()
        self._is_started = True

    async def stop(self) -> None:
        for notices in self._notices:
            await notices.stop()

    def find(self, wanted: AclBindingFilter) -> Iterator[tuple[ResourcePattern, list[AccessControlEntry]]]:
        """The ACLs that a filter matches, by pattern, in order."""
        for pattern in sorted(self._known):
            if wanted.matches_pattern(pattern):
                entries = sorted(one for one in self._known[pattern] if wanted.matches_entry(one))
                if entries:
                    yield pattern, entries

    async def add(self, added: Mapping[ResourcePattern, Collection[AccessControlEntry]], by: str, host: str) -> None:
        """Adds ACLs; those that there are already stay. ``by`` is the principal that asked, ``host`` its address, for
        the audit log. Raises StoreError; then an unknown part of the patterns has changed."""
        await self._change({pattern: frozenset(entries).union for pattern, entries in added.items()})
        for pattern, entries in added.items():
            for entry in entries:
                self._note(by, host, "added", entry, pattern)

    async def remove(
        self, filters: Sequence[AclBindingFilter], by: str, host: str
    ) -> list[list[tuple[ResourcePattern, AccessControlEntry]]]:
        """Removes the ACLs that any of the filters matches. Returns for each filter the ACLs that it matched. Raises
        StoreError; then an unknown part of the patterns has changed."""
        matched: list[list[tuple[ResourcePattern, AccessControlEntry]]] = [[] for _ in filters]
        doomed: dict[ResourcePattern, list[tuple[int, AclBindingFilter]]] = {}
        async for pattern in Turn().each(list(self._known)):
            found = [(at, one) for at, one in enumerate(filters) if one.matches_pattern(pattern)]
            if found:
                doomed[pattern] = found
        taken: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}

        def without(pattern: ResourcePattern, now: frozenset[AccessControlEntry]) -> frozenset[AccessControlEntry]:
            gone = frozenset(one for one in now if any(wanted.matches_entry(one) for _, wanted in doomed[pattern]))
            taken[pattern] = gone
            return now - gone

        await self._change({pattern: partial(without, pattern) for pattern in doomed})
        for pattern, found in doomed.items():
            for entry in sorted(taken.get(pattern, ())):
                self._note(by, host, "removed", entry, pattern)
                for at, wanted in found:
                    if wanted.matches_entry(entry):
                        matched[at].append((pattern, entry))
        return matched

    def _note(self, by: str, host: str, done: str, entry: AccessControlEntry, pattern: ResourcePattern) -> None:
        now_s = asyncio.get_running_loop().time()
        if not self._audit.is_full(now_s):
            change = f"has {done} the ACL {_printable(entry)} on resource = {_printable(pattern)}"
            self._audit.write(f"Principal = {by} from host = {host.lstrip('/')} {change}", now_s)

    # ---- writing
    async def _change(self, changes: Mapping[ResourcePattern, Change]) -> None:
        patterns = list(changes)
        try:
            for at in range(0, len(patterns), TOGETHER):
                some = patterns[at : at + TOGETHER]
                async with self._lock:
                    for pattern in await self._write({pattern: changes[pattern] for pattern in some}):
                        await self._write_one(pattern, changes[pattern])
        finally:
            self._publish()

    async def _write_one(self, pattern: ResourcePattern, change: Change) -> None:
        for _ in range(ATTEMPTS):
            if not await self._write({pattern: change}):
                return
        raise RequestTimedOutError("The ACLs of the resource are being changed by other brokers all the time.")

    async def _write(self, changes: Mapping[ResourcePattern, Change]) -> list[ResourcePattern]:
        """Changes patterns in multis; returns those that are left, since another broker has changed one of them
        meanwhile."""
        left: list[ResourcePattern] = []
        batch: list[Operation] = []
        made: dict[ResourcePattern, tuple[str, frozenset[AccessControlEntry]]] = {}
        size = 0
        paths = {pattern: self._paths.get(pattern) or path_of(pattern) for pattern in changes}
        nodes = await self._store.get_many(list(paths.values()))
        for (pattern, path), node in zip(paths.items(), nodes, strict=True):
            operation, entries = await self._operation(pattern, path, node, changes[pattern])
            pair = [] if operation is None else [operation, notice(pattern)]
            more = sum(map(size_of, pair))
            if batch and size + more > self._store.batch_bytes:
                left += await self._send(batch, made)
                batch, made, size = [], {}, 0
            batch += pair
            made[pattern] = path, entries
            size += more
        return left + await self._send(batch, made)

    async def _operation(
        self, pattern: ResourcePattern, path: str, node: Node | None, change: Change
    ) -> tuple[Operation | None, frozenset[AccessControlEntry]]:
        """The write that makes a change, None when nothing changes; and the entries afterwards."""
        if node is None:
            entries = change(frozenset())
            if not entries:
                return None, entries
            await self._store.ensure_path(parent_of(path))
            return Create(path, encode(pattern, entries)), entries
        before = decode(pattern.pattern_type, path, node.data)[1]
        entries = change(before)
        if entries == before and entries:
            return None, entries
        if not entries:
            return Delete(path, node.version), entries
        return SetData(path, encode(pattern, entries), node.version), entries

    async def _send(
        self, batch: list[Operation], made: Mapping[ResourcePattern, tuple[str, frozenset[AccessControlEntry]]]
    ) -> list[ResourcePattern]:
        if batch:
            try:
                await self._store.multi(batch)
            except (BadVersionError, NodeExistsError, NoNodeError):
                return list(made)
        self._put(made)
        return []

    # ---- reading
    async def _take_literal(self, contents: Sequence[bytes]) -> None:
        await self._take(LITERAL, contents)

    async def _take_prefixed(self, contents: Sequence[bytes]) -> None:
        await self._take(PREFIXED, contents)

    async def _take(self, pattern_type: int, contents: Sequence[bytes]) -> None:
        """Reads the patterns that notices name."""
        patterns: dict[ResourcePattern, None] = {}
        for content in contents:
            try:
                patterns[decode_notice(pattern_type, content)] = None
            except InvalidNodeError as error:
                report(CHANGES[pattern_type], "the notice is skipped", error)
        async with self._lock:
            found: dict[ResourcePattern, tuple[str, frozenset[AccessControlEntry]]] = {}
            paths = {pattern: self._paths.get(pattern) or path_of(pattern) for pattern in patterns}
            nodes = await self._store.get_many(list(paths.values()))
            async for (pattern, path), node in Turn().each(zip(paths.items(), nodes, strict=True)):
                try:
                    entries = frozenset() if node is None else decode(pattern_type, path, node.data)[1]
                    found[pattern] = path, entries
                except InvalidNodeError as error:
                    report(path, "the ACLs before it stay in effect", error)
            self._put(found)
            self._publish()

    async def _load(self) -> None:
        """Reads all ACLs."""
        async with self._lock:
            found: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
            paths: dict[ResourcePattern, str] = {}
            before = {path: pattern for pattern, path in self._paths.items()}
            for pattern_type, root in ROOTS.items():
                depth = root.count("/") + 2  # of the nodes below that of a resource type
                tree = await self._store.get_tree(root)
                async for path, data, _ in Turn().each([one for one in tree if one[0].count("/") == depth]):
                    try:
                        pattern, entries = decode(pattern_type, path, data)
                    except InvalidNodeError as error:
                        if not self._is_started:
                            raise StartupError(
                                f"{path} in the metadata store is invalid: {error}; repair or delete the node, whose "
                                "ACLs would not be in effect"
                            ) from None
                        report(path, "the ACLs before it stay in effect", error)
                        if path not in before:
                            continue
                        pattern, entries = before[path], self._known[before[path]]
                    found[pattern] = entries | found.get(pattern, frozenset())
                    paths[pattern] = path
            self._known = {pattern: entries for pattern, entries in found.items() if entries}
            self._paths = {pattern: paths[pattern] for pattern in self._known}
            self._unpublished.clear()
            self.security.publish_acls([_row(*one) for one in self._known.items()], is_whole=True)

    def _put(self, changed: Mapping[ResourcePattern, tuple[str, frozenset[AccessControlEntry]]]) -> None:
        """Takes over patterns as they are in the store now."""
        for pattern, (path, entries) in changed.items():
            if entries != self._known.get(pattern, frozenset()):
                self._unpublished.add(pattern)
            if entries:
                self._known[pattern], self._paths[pattern] = entries, path
            else:
                self._known.pop(pattern, None)
                self._paths.pop(pattern, None)

    def _publish(self) -> None:
        """Puts what was taken over into effect."""
        if self._unpublished:
            rows = [_row(pattern, self._known.get(pattern, ())) for pattern in self._unpublished]
            self._unpublished.clear()
            self.security.publish_acls(rows, is_whole=False)


def _row(
    pattern: ResourcePattern, entries: Collection[AccessControlEntry]
) -> tuple[int, int, str, list[AccessControlEntry]]:
    return pattern.resource_type, pattern.pattern_type, pattern.name, list(entries)


def _printable(named: ResourcePattern | AccessControlEntry) -> str:
    """For a log line: names come from clients."""
    text = str(named)
    return text[:300] if text.isprintable() else ascii(text[:300])[1:-1]
