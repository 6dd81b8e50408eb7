"""The metadata store of a simulation: ZooKeeper's tree in memory, and a session of each broker with it over the
simulated network.

:class:`Tree` is the ensemble: one copy that never fails, whose changes are durable at once. :class:`SimulatedStore` is
what a broker has of it, by the contract of ``kafkastore/metadata/store.py``: calls of one session arrive in order,
answers and watch events come back in order, a session whose process is silent for its timeout ends. Over a cut link a
call ends with StoreUnavailableError, which for a write leaves open whether it was applied.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kafkastore.metadata.marks import StoreMark
from kafkastore.metadata.store import (
    ANY_VERSION,
    BATCH_BYTES,
    CHILDREN_CHANGED,
    CONNECTED,
    CREATED,
    DATA_CHANGED,
    DELETED,
    EXPIRED,
    SUSPENDED,
    BadVersionError,
    Check,
    Create,
    Delete,
    NoChildrenForEphemeralsError,
    Node,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    StoreError,
    StoreUnavailableError,
    WatchEvent,
    ancestors,
    join_path,
    split_path,
)
from simulator.network import in_world

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kafkastore.metadata.store import Operation, StateListener, Watcher
    from simulator.network import Network

NAME = "store"
SESSION_TIMEOUT_S = 0.8
HEARTBEAT_S = 0.25
CALL_LIMIT_S = 0.6
TICK_S = 1e-6


class _Node:
    __slots__ = ("children", "created", "data", "owner", "sequence", "version")

    def __init__(self, data: bytes, owner: int, created: int) -> None:
        self.data = data
        self.version = 0
        self.owner = owner
        self.created = created
        self.sequence = 0
        self.children: dict[str, None] = {}


class Tree:
    """See the module. ``multi`` is atomic: what fails has changed nothing."""

    def __init__(self) -> None:
        self.nodes: dict[str, _Node] = {"/": _Node(b"", 0, 0)}
        self.change = 0
        self.sessions: dict[int, SimulatedStore] = {}
        self._last_session = 0
        self.on_change: Callable[[], None] = lambda: None
        """Called after each change, by whoever wants to look at it at once."""
        self._data_watches: dict[str, list[tuple[int, Watcher]]] = {}
        self._child_watches: dict[str, list[tuple[int, Watcher]]] = {}

    def open_session(self, store: SimulatedStore) -> int:
        self._last_session += 1
        self.sessions[self._last_session] = store
        return self._last_session

    def end_session(self, session: int) -> None:
        if self.sessions.pop(session, None) is None:
            return
        for watches in (self._data_watches, self._child_watches):
            for path in list(watches):
                watches[path] = [watch for watch in watches[path] if watch[0] != session]
        owned = [path for path, node in self.nodes.items() if node.owner == session]
        self.change += 1
        events: list[WatchEvent] = []
        for path in owned:
            self._delete(path, events)
        self._fire(events)

    # ---- reads
    def node(self, path: str) -> _Node:
        found = self.nodes.get(path)
        if found is None:
            raise NoNodeError(path)
        return found

    def watch_data(self, path: str, session: int, watcher: Watcher | None) -> None:
        if watcher is not None:
            self._data_watches.setdefault(path, []).append((session, watcher))

    def watch_children(self, path: str, session: int, watcher: Watcher | None) -> None:
        if watcher is not None:
            self._child_watches.setdefault(path, []).append((session, watcher))

    # ---- writes
    def multi(self, operations: Sequence[Operation], session: int) -> list[str | int | None]:
        undo = {
            path: (node.data, node.version, node.sequence, dict(node.children))
            for path, node in self._touched(operations)
        }
        before = set(self.nodes)
        self.change += 1
        events: list[WatchEvent] = []
        removed: dict[str, _Node] = {}
        try:
            results = [self._apply(operation, session, events, removed) for operation in operations]
        except Exception:
            for path in [path for path in self.nodes if path not in before]:
                del self.nodes[path]
            self.nodes.update(removed)
            for path, (data, version, sequence, children) in undo.items():
                node = self.nodes[path]
                node.data, node.version, node.sequence, node.children = data, version, sequence, children
            raise
        self.on_change()
        self._fire(events)
        return results

    def _touched(self, operations: Sequence[Operation]) -> Iterable[tuple[str, _Node]]:
        for operation in operations:
            for path in (operation.path, split_path(operation.path)[0]):
                if path in self.nodes:
                    yield path, self.nodes[path]

    def _apply(
        self, operation: Operation, session: int, events: list[WatchEvent], removed: dict[str, _Node]
    ) -> str | int | None:
        if isinstance(operation, Create):
            return self._create(operation, session, events)
        node = self.node(operation.path)
        if operation.version not in (ANY_VERSION, node.version):
            raise BadVersionError(operation.path)
        if isinstance(operation, Check):
            return None
        if isinstance(operation, SetData):
            node.data = operation.data
            node.version += 1
            events.append(WatchEvent(DATA_CHANGED, operation.path))
            return node.version
        if node.children:
            raise NotEmptyError(operation.path)
        removed[operation.path] = node
        self._delete(operation.path, events)
        return None

    def _create(self, operation: Create, session: int, events: list[WatchEvent]) -> str:
        parent_path, name = split_path(operation.path)
        parent = self.node(parent_path)
        if parent.owner:
            raise NoChildrenForEphemeralsError(parent_path)
        if operation.is_sequential:
            name = f"{name}{parent.sequence:010d}"
            parent.sequence += 1
        path = join_path(parent_path, name)
        if path in self.nodes:
            raise NodeExistsError(path)
        self.nodes[path] = _Node(operation.data, session if operation.is_ephemeral else 0, self.change)
        parent.children[name] = None
        events += [WatchEvent(CREATED, path), WatchEvent(CHILDREN_CHANGED, parent_path)]
        return path

    def _delete(self, path: str, events: list[WatchEvent]) -> None:
        parent, name = split_path(path)
        del self.nodes[path]
        self.nodes[parent].children.pop(name, None)
        events += [WatchEvent(DELETED, path), WatchEvent(CHILDREN_CHANGED, parent)]

    def _fire(self, events: Iterable[WatchEvent]) -> None:
        for event in events:
            due: list[tuple[int, Watcher]] = []
            if event.kind != CHILDREN_CHANGED:
                due += self._data_watches.pop(event.path, [])
            if event.kind in (CHILDREN_CHANGED, DELETED):
                due += self._child_watches.pop(event.path, [])
            for session, watcher in due:
                if session in self.sessions:
                    self.sessions[session].deliver(watcher, event)


class SimulatedStore:
    """One process's session with the tree; see the module."""

    def __init__(self, tree: Tree, network: Network, name: str, call: Callable[..., None]) -> None:
        """``call(function, ...)`` runs something in the process that has this store."""
        self.tree = tree
        self.network = network
        self.name = name
        self.batch_bytes = BATCH_BYTES
        self.session_id = 0
        self._call = call
        self._listeners: list[StateListener] = []
        self._state = EXPIRED
        self._arrives_at = 0.0
        self._returns_at = 0.0
        self._undelivered: list[tuple[Watcher, WatchEvent]] = []
        self._heard_at = 0.0
        self._is_closed = False

    # ---- the way there and back, in order
    def _later(self, callback: Callable[..., None], *arguments: Any) -> None:
        """At the store, after all that was sent before."""
        loop = asyncio.get_running_loop()
        self._arrives_at = max(self._arrives_at + TICK_S, loop.time() + self.network.delay())
        in_world(loop.call_at, self._arrives_at, callback, *arguments)

    def _back(self, callback: Callable[..., None], *arguments: Any) -> None:
        """In the process, after all that was sent before."""
        loop = asyncio.get_running_loop()
        self._returns_at = max(self._returns_at + TICK_S, loop.time() + self.network.delay())
        in_world(loop.call_at, self._returns_at, self._call, callback, *arguments)

    def _is_reachable(self) -> bool:
        return self.network.passes(self.name, NAME) and self.network.passes(NAME, self.name)

    def deliver(self, watcher: Watcher, event: WatchEvent) -> None:
        if self._is_reachable() and not self._undelivered:
            self._back(watcher, event)
        else:
            self._undelivered.append((watcher, event))

    async def _ask(self, path: str, apply: Callable[[int], Any]) -> Any:
        if not self.session_id:
            raise SessionExpiredError(path)
        loop = asyncio.get_running_loop()
        session, answered = self.session_id, loop.create_future()

        def give(result: Any, error: BaseException | None) -> None:
            if answered.done():
                return
            if isinstance(error, SessionExpiredError):
                self._expire(session)
                if answered.done():  # whoever heard of it has cancelled the call
                    return
            if error is not None:
                answered.set_exception(error)
            else:
                answered.set_result(result)

        def arrive() -> None:
            if not self._is_reachable():
                in_world(loop.call_later, CALL_LIMIT_S, self._call, give, None, StoreUnavailableError(path))
                return
            if session not in self.tree.sessions:
                self._back(give, None, SessionExpiredError(path))
                return
            self._heard_at = loop.time()
            try:
                result, error = apply(session), None
            except StoreError as refusal:
                result, error = None, refusal
            if self.network.random.random() < self.network.loss / 4:
                in_world(loop.call_later, CALL_LIMIT_S, self._call, give, None, StoreUnavailableError(path))
            else:
                self._back(give, result, error)

        self._later(arrive)
        return await answered

    # ---- marks: what may happen to a store's own files is not simulated
    async def read_mark(self) -> StoreMark | None:
        return StoreMark("simulated", 1)

    async def mark(self) -> StoreMark:
        return StoreMark("simulated", 1)

    async def stamp(self) -> StoreMark:
        return StoreMark("simulated", 1)

    async def has_lost(self, generation: int, path: str) -> bool:
        del generation, path
        return False

    async def find_damage(self) -> list[str]:
        return []

    # ---- sessions
    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        opened: asyncio.Future[int] = loop.create_future()

        def arrive() -> None:
            if self._is_reachable():
                self._heard_at = loop.time()
                self._back(take, self.tree.open_session(self))
            else:
                in_world(loop.call_later, CALL_LIMIT_S, self._call, take, 0)

        def take(session: int) -> None:
            if not opened.done():
                opened.set_result(session)

        self._later(arrive)
        session = await opened
        if not session:
            raise StoreUnavailableError("/")
        self.session_id, self._undelivered = session, []
        self._tell(CONNECTED)
        in_world(loop.call_later, HEARTBEAT_S, self._call, self._beat, session)
        in_world(loop.call_later, SESSION_TIMEOUT_S, self._watch_over, session)

    def _beat(self, session: int) -> None:
        """In the process: what keeps its session. A stopped process sends none."""
        if session != self.session_id or self._is_closed:
            return
        loop = asyncio.get_running_loop()

        def arrive() -> None:
            if not self._is_reachable():
                return
            if session in self.tree.sessions:
                self._heard_at = loop.time()
                undelivered, self._undelivered = self._undelivered, []
                for watcher, event in undelivered:
                    self._back(watcher, event)
                self._back(self._tell, CONNECTED)
            else:
                self._back(self._expire, session)

        self._later(arrive)
        if not self._is_reachable():
            self._tell(SUSPENDED)
        in_world(loop.call_later, HEARTBEAT_S, self._call, self._beat, session)

    def _watch_over(self, session: int) -> None:
        """At the store: ends a session that is silent."""
        loop = asyncio.get_running_loop()
        due = self._heard_at + SESSION_TIMEOUT_S
        if session not in self.tree.sessions:
            return
        if loop.time() >= due:
            self.tree.end_session(session)
        else:
            in_world(loop.call_at, due, self._watch_over, session)

    def _expire(self, session: int) -> None:
        if session == self.session_id:
            self.session_id = 0
            self._undelivered = []
            self._tell(EXPIRED)

    def _tell(self, state: str) -> None:
        if state != self._state and not self._is_closed:
            self._state = state
            for listener in list(self._listeners):
                listener(state)

    async def close(self) -> None:
        self._is_closed = True
        session, self.session_id = self.session_id, 0
        self._later(self.tree.end_session, session)

    def listen(self, callback: StateListener) -> None:
        self._listeners.append(callback)

    # ---- reads
    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        def apply(session: int) -> Node:
            node = self.tree.node(path)
            self.tree.watch_data(path, session, watch)
            return Node(node.data, node.version, node.owner, node.created)

        found: Node = await self._ask(path, apply)
        return found

    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        return list(await asyncio.gather(*map(self._get_or_none, paths)))

    async def _get_or_none(self, path: str) -> Node | None:
        try:
            return await self.get(path)
        except NoNodeError:
            return None

    async def exists(self, path: str, watch: Watcher | None = None) -> int | None:
        def apply(session: int) -> int | None:
            self.tree.watch_data(path, session, watch)
            node = self.tree.nodes.get(path)
            return None if node is None else node.version

        found: int | None = await self._ask(path, apply)
        return found

    async def get_children(self, path: str, watch: Watcher | None = None) -> list[str]:
        def apply(session: int) -> list[str]:
            node = self.tree.node(path)
            self.tree.watch_children(path, session, watch)
            return sorted(node.children)

        found: list[str] = await self._ask(path, apply)
        return found

    async def get_tree(self, path: str) -> list[tuple[str, bytes, int]]:
        def apply(_: int) -> list[tuple[str, bytes, int]]:
            below = sorted(one for one in self.tree.nodes if one.startswith(path.rstrip("/") + "/"))
            return [(one, self.tree.nodes[one].data, self.tree.nodes[one].version) for one in below]

        found: list[tuple[str, bytes, int]] = await self._ask(path, apply)
        return found

    async def last_change(self, *paths: str) -> int | None:
        """As ZooKeeper."""
        del paths
        return None

    async def delete_tree(self, path: str, pause: Callable[[], Awaitable[None]] | None = None) -> list[Operation]:
        del pause
        below = [one for one, _, _ in await self.get_tree(path)]
        operations: list[Operation] = [Delete(one) for one in reversed(below)]
        return [*operations, Delete(path)] if await self.exists(path) is not None else operations

    # ---- writes
    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        wanted = list(operations)
        first = wanted[0].path if wanted else "/"
        results: list[str | int | None] = await self._ask(first, lambda session: self.tree.multi(wanted, session))
        return results

    async def create(
        self, path: str, data: bytes = b"", *, is_ephemeral: bool = False, is_sequential: bool = False
    ) -> str:
        return str((await self.multi([Create(path, data, is_ephemeral, is_sequential)]))[0])

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        (result,) = await self.multi([SetData(path, data, version)])
        assert isinstance(result, int)
        return result

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def ensure_path(self, path: str) -> None:
        def apply(session: int) -> None:
            for one in ancestors(path):
                if one not in self.tree.nodes:
                    self.tree.multi([Create(one)], session)

        await self._ask(path, apply)

    async def poll(self) -> None:
        await self._ask("/", lambda _: None)
