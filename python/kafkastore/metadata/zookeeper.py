"""The metadata store in a ZooKeeper ensemble, in Kafka's layout below an optional chroot.

A write is durable when a quorum has it on disk, which is before its coroutine returns. While the connection is lost,
calls wait for it up to their limit; reads that were under way are sent again, writes that were raise
StoreUnavailableError. Watches live on the server; after a lost connection they are set again, and fire for what
happened meanwhile, before any call goes through. What runs in kazoo's thread: ``zookeeper_client.py``.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kazoo.exceptions import (
    BadVersionError as KazooBadVersionError,
)
from kazoo.exceptions import (
    ConnectionClosedError,
    ConnectionLoss,
    NoAuthError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    ZookeeperError,
)
from kazoo.exceptions import (
    NoChildrenForEphemeralsError as KazooNoChildrenForEphemeralsError,
)
from kazoo.exceptions import (
    NodeExistsError as KazooNodeExistsError,
)
from kazoo.exceptions import (
    NoNodeError as KazooNoNodeError,
)
from kazoo.exceptions import (
    NotEmptyError as KazooNotEmptyError,
)
from kazoo.exceptions import (
    SessionExpiredError as KazooSessionExpiredError,
)
from kazoo.protocol.states import EventType
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE, READ_ACL_UNSAFE

from kafkastore.metadata.batches import check_size
from kafkastore.metadata.store import (
    BATCH_BYTES,
    CHILDREN_CHANGED,
    CONNECTED,
    CREATED,
    DATA_CHANGED,
    DELETED,
    EXPIRED,
    READ_AT_ONCE,
    SUSPENDED,
    BadVersionError,
    Check,
    Create,
    NoChildrenForEphemeralsError,
    Node,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    StoreAccessDeniedError,
    StoreError,
    StoreUnavailableError,
    WatchEvent,
    ancestors,
    join_path,
    validate_path,
)
from kafkastore.metadata.watches import NodeChanges, Watch, Watches
from kafkastore.metadata.writes import WritesByMulti
from kafkastore.metadata.zookeeper_client import STOP_LIMIT_S, Reply, RequestNotSentError, ZookeeperClient
from kafkastore.metadata.zookeeper_marks import ZookeeperMarks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from kafkastore.metadata.marks import StoreMark
    from kafkastore.metadata.store import Operation, StateListener, Watcher
    from kafkastore.metadata.zookeeper_settings import ZookeeperSettings

    T = TypeVar("T")

logger = logging.getLogger("kafkastore.metadata.zookeeper")

SAID_AFTER_S = 2.0
"""How long a start waits for ZooKeeper before it says so."""

SECRET_ROOTS = ("/config/users", "/config/brokers", "/delegation_token")
"""Nodes that only their owner may read when ``zookeeper.set.acl`` is on, as in Kafka; every client may read the
others."""

OPEN_ROOT = "/consumers"
"""Kafka's old consumers write here themselves."""

_ERRORS: dict[type[Exception], type[StoreError]] = {
    KazooNoNodeError: NoNodeError,
    KazooNodeExistsError: NodeExistsError,
    KazooBadVersionError: BadVersionError,
    KazooNotEmptyError: NotEmptyError,
    KazooNoChildrenForEphemeralsError: NoChildrenForEphemeralsError,
    KazooSessionExpiredError: SessionExpiredError,
    NoAuthError: StoreAccessDeniedError,
}

_AWAY = (ConnectionLoss, ConnectionClosedError, OperationTimeoutError)
"""The errors with which a request under way ends when the connection is lost."""

_UNREADABLE = (KazooNoNodeError, NoAuthError)
"""The errors for a watched node that has meanwhile become unreadable: its watches fire, and their readers read it
again."""

_KINDS = {
    EventType.CREATED: CREATED,
    EventType.DELETED: DELETED,
    EventType.CHANGED: DATA_CHANGED,
    EventType.CHILD: CHILDREN_CHANGED,
}


class ZookeeperStore(WritesByMulti):
    """See the module. Methods run on one loop."""

    def __init__(self, settings: ZookeeperSettings) -> None:
        self.settings = settings
        self.batch_bytes = BATCH_BYTES
        self.session_id = 0
        self._limit_s = settings.connection_timeout_ms / 1000
        self._client: ZookeeperClient | None = None
        self._state: str | None = None
        self._listeners: list[StateListener] = []
        self._watches = Watches()
        self._in_flight = asyncio.Semaphore(settings.max_in_flight)
        self._answers = 0
        self._changed = asyncio.Event()  # set when the connection or the session changes, for which calls wait
        self._restoring: asyncio.Task[None] | None = None
        self._marks = ZookeeperMarks(self)

    # ---- session
    async def connect(self) -> None:
        assert self._client is None, "connected already"
        client = self._client = ZookeeperClient(self.settings, asyncio.get_running_loop(), self._on_state)
        client.start()
        sentence = self._sentence(f"does not answer yet; waiting up to {self._limit_s:g} s")
        waiting = asyncio.get_running_loop().call_later(SAID_AFTER_S, logger.warning, "%s", sentence)
        try:
            async with asyncio.timeout(self._limit_s):
                session_id = await self._wait_for_session(client)
                await self._make_chroot()
        except BaseException as error:
            self._client = None
            _ = client.stop()
            if isinstance(error, TimeoutError):
                sentence = f"cannot be reached within {self._limit_s:g} s; start ZooKeeper there, or correct the key"
                raise StoreUnavailableError("/", self._sentence(sentence)) from None
            raise
        finally:
            waiting.cancel()
        self.session_id = session_id
        self._tell(CONNECTED)
        if not client.open(client.connections):  # lost since, before the listeners could hear it
            self._tell(SUSPENDED)

    async def _wait_for_session(self, client: ZookeeperClient) -> int:
        while not (client.open(client.connections) and client.session_id):
            await self._wait_for_change()
            if self._client is not client:
                raise StoreUnavailableError("/", self._sentence("refused the session"))
        return client.session_id

    async def close(self) -> None:
        self._listeners.clear()
        client, self._client = self._client, None
        self.session_id = 0
        self._changed.set()
        if self._restoring is not None:
            self._restoring.cancel()
        if client is not None:
            await asyncio.wait([client.stop()], timeout=STOP_LIMIT_S)

    def listen(self, callback: StateListener) -> None:
        self._listeners.append(callback)

    # ---- reads
    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        def note(reply: Reply) -> None:
            if watch is not None and reply.error is None:
                self._watches.on_data(path, Watch(watch, reply.last_zxid, existed=True))

        full, on_event = self._full(path), self._event_of(watch)
        data, stat = await self._read(path, lambda kazoo: kazoo.get_async(full, on_event), note)
        return Node(data, stat.version, stat.ephemeralOwner, stat.czxid)

    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        found: list[Node | None] = []
        for at in range(0, len(paths), READ_AT_ONCE):
            found += await asyncio.gather(*map(self._get_or_none, paths[at : at + READ_AT_ONCE]))
        return found

    async def _get_or_none(self, path: str) -> Node | None:
        try:
            return await self.get(path)
        except NoNodeError:
            return None

    async def exists(self, path: str, watch: Watcher | None = None) -> int | None:
        def note(reply: Reply) -> None:
            if watch is not None and reply.error is None:
                self._watches.on_data(path, Watch(watch, reply.last_zxid, reply.value is not None))

        full, on_event = self._full(path), self._event_of(watch)
        stat = await self._read(path, lambda kazoo: kazoo.exists_async(full, on_event), note)
        return None if stat is None else int(stat.version)

    async def get_children(self, path: str, watch: Watcher | None = None) -> list[str]:
        def note(reply: Reply) -> None:
            if watch is not None and reply.error is None:
                self._watches.on_children(path, Watch(watch, reply.last_zxid, existed=True))

        full, on_event = self._full(path), self._event_of(watch)
        names = await self._read(path, lambda kazoo: kazoo.get_children_async(full, on_event), note)
        return sorted(names)

    async def get_tree(self, path: str) -> list[tuple[str, bytes, int]]:
        """Reads node by node, so the tree is not of one moment."""
        found: list[tuple[str, bytes, int]] = []
        level = [path]
        while level:
            children = await asyncio.gather(*map(self._children_or_none, level))
            paths = [join_path(parent, name) for parent, names in zip(level, children, strict=True) for name in names]
            nodes = await asyncio.gather(*map(self._node_or_none, paths))
            level = []
            for one, node in zip(paths, nodes, strict=True):
                if node is not None:
                    data, stat = node
                    found.append((one, data, stat.version))
                    if stat.numChildren:
                        level.append(one)
        return found

    async def last_change(self, *paths: str) -> int | None:
        """None: each node has its own zxids, and reading them costs as much as reading all nodes."""
        del paths
        return None

    # ---- whether it is what it was
    async def read_mark(self) -> StoreMark | None:
        return await self._marks.read()

    async def mark(self) -> StoreMark:
        return await self._marks.raise_if_changed()

    async def stamp(self) -> StoreMark:
        return self._marks.of_change()

    async def has_lost(self, generation: int, path: str) -> bool:
        del path
        return generation > (await self.mark()).generation

    async def find_damage(self) -> list[str]:
        """ZooKeeper has checksums of its own."""
        return []

    async def last_changes(self, path: str) -> tuple[int, int]:
        """The zxids of the last change of all nodes and of the last change of one node, as the ensemble's leader knows
        them. Raises NoNodeError."""
        await self.poll()
        full, last = self._full(path), 0

        def note(reply: Reply) -> None:
            nonlocal last
            last = reply.last_zxid

        _, stat = await self._read(path, lambda kazoo: kazoo.get_async(full), note)
        return last, stat.mzxid

    # ---- writes
    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        if not operations:
            return []
        check_size(operations)
        return await self._multi(operations)

    async def poll(self) -> None:
        """When this returns, the watches of all changes that the ensemble's leader had made when it was asked have
        fired."""
        full = self._full("/")
        await self._read("/", lambda kazoo: kazoo.sync_async(full))

    # ---- requests
    async def _multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        def request(kazoo: Any) -> Any:
            transaction = kazoo.transaction()
            for operation in operations:
                self._add(transaction, operation)
            return transaction.commit_async()

        results = await self._call(operations[0].path, request)
        for operation, result in zip(operations, results, strict=False):
            if isinstance(result, Exception) and not isinstance(result, RolledBackError | RuntimeInconsistency):
                raise _error(operation.path, result) from None
        if len(results) != len(operations) or any(isinstance(one, Exception) for one in results):
            raise StoreError(operations[0].path, f"ZooKeeper refused {len(operations)} operations: {results}")
        return [self._result(one, result) for one, result in zip(operations, results, strict=True)]

    def _add(self, transaction: Any, operation: Operation) -> None:
        full = self._full(operation.path)
        if isinstance(operation, Create):
            acl = self._acl(operation.path)
            transaction.create(full, operation.data, acl, operation.is_ephemeral, operation.is_sequential)
        elif isinstance(operation, SetData):
            transaction.set_data(full, operation.data, operation.version)
        elif isinstance(operation, Check):
            transaction.check(full, operation.version)
        else:
            transaction.delete(full, operation.version)

    def _result(self, operation: Operation, result: Any) -> str | int | None:
        if isinstance(operation, Create):
            return str(result)[len(self.settings.chroot) :]
        return int(result.version) if isinstance(operation, SetData) else None

    async def _read(self, path: str, request: Callable[[Any], Any], note: Callable[[Reply], None] | None = None) -> Any:
        return await self._call(path, request, note, is_read=True)

    async def _children_or_none(self, path: str) -> list[str]:
        try:
            return await self.get_children(path)
        except NoNodeError:
            return []

    async def _node_or_none(self, path: str) -> tuple[bytes, Any] | None:
        full = self._full(path)
        try:
            node: tuple[bytes, Any] = await self._read(path, lambda kazoo: kazoo.get_async(full))
        except NoNodeError:
            return None
        return node

    async def _answer(
        self, request: Callable[[Any], Any], note: Callable[[Reply], None] | None, *, is_read: bool
    ) -> Any:
        def answered(reply: Reply) -> None:
            self._answers += not isinstance(reply.error, _AWAY)
            if note is not None:
                note(reply)

        while True:
            client = self._session()
            try:
                return await _send(client, request, answered)
            except RequestNotSentError:
                await self._wait_for_change()
            except _AWAY:
                if not is_read:
                    raise
            except KazooSessionExpiredError:  # raised after the listeners have heard EXPIRED
                while self._client is client:
                    await self._wait_for_change()
                raise

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """A place among the requests in flight. Those of a large tree wait long for theirs: raises TimeoutError only
        when ZooKeeper answers nobody meanwhile."""
        while True:
            answers = self._answers
            try:
                async with asyncio.timeout(self._limit_s):
                    await self._in_flight.acquire()
            except TimeoutError:
                if self._answers == answers:
                    raise
            else:
                break
        try:
            yield
        finally:
            self._in_flight.release()

    async def _call(
        self,
        path: str,
        request: Callable[[Any], Any],
        note: Callable[[Reply], None] | None = None,
        *,
        is_read: bool = False,
    ) -> Any:
        """Sends a request; returns the reply's value. ``note`` is called on the loop with the reply, before anything
        that came after the reply."""
        if asyncio.current_task() is None:  # a handler's first step, and a deadline needs a task
            return await asyncio.get_running_loop().create_task(self._call(path, request, note, is_read=is_read))
        try:
            async with self._turn(), asyncio.timeout(self._limit_s):
                return await self._answer(request, note, is_read=is_read)
        except TimeoutError:
            raise StoreUnavailableError(path, self._sentence(f"has not answered within {self._limit_s:g} s")) from None
        except _AWAY as error:
            sentence = self._sentence("was lost during a write, which may have been done")
            raise StoreUnavailableError(path, sentence) from error
        except ZookeeperError as error:
            raise _error(path, error) from None

    def _session(self) -> ZookeeperClient:
        if self._client is None:
            raise SessionExpiredError("/")
        return self._client

    async def _wait_for_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # ---- states, on the loop
    def _on_state(self, client: ZookeeperClient, state: str) -> None:
        if client is not self._client:
            return
        self._changed.set()
        if state == EXPIRED:
            self._expire(client)
        elif self.session_id and state == SUSPENDED:
            self._cancel_restoring()
            self._tell(SUSPENDED)
        elif self.session_id and state == CONNECTED:
            self._cancel_restoring()
            self._restoring = asyncio.get_running_loop().create_task(self._restore(client))

    async def _restore(self, client: ZookeeperClient) -> None:
        """Sets the watches on the new connection, fires the watches of nodes that changed, lets calls through."""
        connections = client.connections
        data, children = self._watches.data_paths(), self._watches.children_paths()
        requests = [self._restore_data(client, path) for path in data]
        requests += [self._restore_children(client, path) for path in children]
        try:
            await asyncio.gather(*requests)
        except (RequestNotSentError, ZookeeperError):
            return  # lost again, or over: the next state says which
        if client.open(connections):
            self._tell(CONNECTED)
            self._changed.set()

    async def _restore_data(self, client: ZookeeperClient, path: str) -> None:
        def note(reply: Reply) -> None:
            if reply.error is None:
                self._watches.compare_data(path, None if reply.value is None else _node_changes(reply.value))

        full = self._full(path)
        await _send(client, lambda kazoo: kazoo.exists_async(full, self._on_event), note, is_restoring=True)

    async def _restore_children(self, client: ZookeeperClient, path: str) -> None:
        def note(reply: Reply) -> None:
            if reply.error is None:
                self._watches.compare_children(path, _node_changes(reply.value[1]))
            elif isinstance(reply.error, _UNREADABLE):
                self._watches.compare_children(path, None)

        full = self._full(path)
        try:
            await _send(
                client,
                lambda kazoo: kazoo.get_children_async(full, self._on_event, include_data=True),
                note,
                is_restoring=True,
            )
        except _UNREADABLE:
            return

    def _cancel_restoring(self) -> None:
        if self._restoring is not None:
            self._restoring.cancel()
            self._restoring = None

    def _expire(self, client: ZookeeperClient) -> None:
        self._cancel_restoring()
        self._client = None
        was_open, self.session_id = self.session_id != 0, 0
        self._watches.clear()
        _ = client.stop()
        if was_open:
            self._tell(EXPIRED)

    def _tell(self, state: str) -> None:
        if state != self._state:
            self._state = state
            for listener in list(self._listeners):
                listener(state)

    # ---- inside
    async def _make_chroot(self) -> None:
        for path in ancestors(self.settings.chroot or "/"):
            acl = self._acl("/")

            def request(kazoo: Any, path: str = path, acl: list[Any] = acl) -> Any:
                return kazoo.create_async(path, b"", acl)

            try:
                await self._call(path, request)
            except NodeExistsError:
                continue

    def _event_of(self, watch: Watcher | None) -> Callable[[Any], None] | None:
        return None if watch is None else self._on_event

    def _on_event(self, event: Any) -> None:
        """In kazoo's thread. The event that kazoo gives all watches when it forgets them is no event of a node:
        dropped."""
        kind, client = _KINDS.get(event.type), self._client
        if kind is not None and client is not None:
            client.to_loop(lambda: self._fire(client, WatchEvent(kind, self._stripped(event.path))))

    def _fire(self, client: ZookeeperClient, event: WatchEvent) -> None:
        if client is self._client:
            self._watches.fire([event], math.inf)  # the wire's order says which of the watches it is for

    def _full(self, path: str) -> str:
        validate_path(path)
        return path if not self.settings.chroot else self.settings.chroot + (path if path != "/" else "")

    def _stripped(self, full: str) -> str:
        return full[len(self.settings.chroot) :] or "/"

    def _acl(self, path: str) -> list[Any]:
        if not self.settings.is_acl_set or _is_at(path, OPEN_ROOT):
            return list(OPEN_ACL_UNSAFE)
        if any(_is_at(path, root) for root in SECRET_ROOTS):
            return list(CREATOR_ALL_ACL)
        return [*CREATOR_ALL_ACL, *READ_ACL_UNSAFE]

    def _sentence(self, what: str) -> str:
        return f"zookeeper.connect={self.settings.hosts}{self.settings.chroot} {what}"


async def _send(
    client: ZookeeperClient,
    request: Callable[[Any], Any],
    note: Callable[[Reply], None] | None = None,
    *,
    is_restoring: bool = False,
) -> Any:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def on_reply(reply: Reply) -> None:
        if note is not None:
            note(reply)
        if future.done():  # the caller's time was up
            return
        if reply.error is not None:
            future.set_exception(reply.error)
        else:
            future.set_result(reply.value)

    client.submit(request, on_reply, is_restoring=is_restoring)
    return await future


def _error(path: str, error: Exception) -> StoreError:
    kind = _ERRORS.get(type(error))
    return StoreError(path, f"{path}: ZooKeeper says {type(error).__name__}") if kind is None else kind(path)


def _node_changes(stat: Any) -> NodeChanges:
    return NodeChanges(stat.mzxid, stat.pzxid)


def _is_at(path: str, root: str) -> bool:
    return path == root or path.startswith(root + "/")
