"""The metadata store in one SQLite file: one host, any number of processes.

Writes run one at a time in a writer thread, so that an fsync or another process's lock never stalls the loop; reads run
on the loop on a connection of their own and see every commit that was awaited, but for trees of many nodes, which the
writer thread reads. What is in the file: ``sqlite_file.py``.

A session is over (``sqlite_sessions.py``) when its process is gone or has not renewed its heartbeat in the session's
timeout. Every process with a session looks for such sessions twice a second and ends them. A process that was itself
late with its heartbeat lets a session timeout pass before it takes other processes for hung: after a lock or a full
disk that kept all processes from writing, each gets the time to renew.

Watches fire from the changes that this process's own writes made, and from a comparison with the file whenever
``PRAGMA data_version`` says that the file was written to: it is read ten times a second, and before any read returns.

After each commit, before its call returns, the number of the transaction is written to the mark beside the file
(``marks.py``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from kafkastore.errors import StartupError
from kafkastore.metadata.marks import SIDECAR_SUFFIX, MarkFile, StoreMark
from kafkastore.metadata.sqlite_check import WAYS_OUT, find_damage, refuse_damaged
from kafkastore.metadata.sqlite_file import SqliteFile, is_busy, unavailable
from kafkastore.metadata.sqlite_sessions import is_late, own_process, refuse_other_hosts, session_locks, sessions_over
from kafkastore.metadata.sqlite_transaction import (
    DAMAGED,
    Transaction,
    checksum_of,
    last_change,
    session_lives,
    version_of,
)
from kafkastore.metadata.store import (
    CONNECTED,
    EXPIRED,
    READ_AT_ONCE,
    SUSPENDED,
    Node,
    NoNodeError,
    SessionExpiredError,
    StoreUnavailableError,
    WatchEvent,
    join_path,
    split_path,
    validate_path,
)
from kafkastore.metadata.watches import NodeChanges, Watch, Watches
from kafkastore.metadata.writes import WritesByMulti

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kafkastore.metadata.store import Operation, StateListener, Watcher

    P = ParamSpec("P")
    T = TypeVar("T")

logger = logging.getLogger("kafkastore.metadata.sqlite")

SESSION_TIMEOUT_MS = 18_000
"""Kafka's zookeeper.session.timeout.ms: how long a hung process keeps its ephemeral nodes."""

CALL_TIMEOUT_MS = 10_000
"""How long a call waits for another process's lock; commits take milliseconds, so this is a process that hangs."""

STUCK_GRACE_S = 1.0
"""How much longer than its time limit a write may take before the disk counts as stuck."""

POLL_S = 0.1
"""How often, while there are watches, the store looks whether the file was written to."""

LOOK_S = 0.5
"""How often the store looks for sessions of other processes that are over, and whether its own session is still
there."""

BUSY_RETRY_S = 0.02

FEW_NODES = 5000
"""Trees of up to this many nodes are read on the loop, in some 7 ms."""

BATCH_BYTES = 16 << 20
"""A transaction takes any number of nodes, and each transaction costs a sync; other processes wait a second or so for a
transaction of this size."""


class SqliteStore(WritesByMulti):
    """See the module. Methods run on one loop."""

    def __init__(
        self,
        path: str,
        setting: str | None = None,
        *,
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        call_timeout_ms: int = CALL_TIMEOUT_MS,
        is_shared: bool = True,
    ) -> None:
        """``setting`` is the ``key=value`` that a refusal names. Unless the file ``is_shared``, changes of other
        processes are noticed five times as late. Raises StartupError."""
        self.path = path
        self.batch_bytes = BATCH_BYTES
        self.session_id = 0
        self._setting = setting or f"kafkastore.metadata.path={path}"
        self._session_timeout_ms = session_timeout_ms
        self._call_timeout_s = call_timeout_ms / 1000
        self._poll_s = POLL_S if is_shared else LOOK_S
        refuse_damaged(path, self._setting)
        self._reader = SqliteFile(path, self._setting)
        self._locks = session_locks(path, self._setting)
        self._store_id, self._lost, self._newest = _identity(self._reader, self._setting)
        self._opened_at = self._newest
        self._mark = MarkFile(path + SIDECAR_SUFFIX)
        self._mark_fails = False
        self._take_down(self._newest, is_synced=True)
        self._writer: SqliteFile | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._watches = Watches()
        self._seen_file: tuple[int, int] = (0, 0)
        self._state: str | None = None
        self._listeners: list[StateListener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._beat_now = asyncio.Event()
        self._has_watches = asyncio.Event()
        self._judges_from_ms = 0

    # ---- session
    async def connect(self) -> None:
        assert not self.session_id, "connected already"
        await self._stop_tasks()
        self.session_id = await self._in_writer(self._open_session)
        self._tell(CONNECTED)
        self._tasks = [asyncio.create_task(self._keep_polling()), asyncio.create_task(self._keep_beating())]

    async def close(self) -> None:
        self._listeners.clear()
        await self._stop_tasks()
        is_away = False
        if self.session_id:
            try:
                await self._in_writer(self._end_sessions, lambda _: [self.session_id])
            except StoreUnavailableError:  # other processes end the session when this process is gone
                is_away = True
        self.session_id = 0
        if self._thread is not None:
            self._thread.shutdown(wait=not is_away)
            self._thread = None
        if self._writer is not None and not is_away:
            self._writer.close()
            self._writer = None
        self._locks.close()
        self._reader.close()
        if not is_away:
            self._mark.close()

    def listen(self, callback: StateListener) -> None:
        self._listeners.append(callback)

    # ---- reads
    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        validate_path(path)

        def read(connection: sqlite3.Connection, seen: int) -> Node:
            found = _node(connection, path)
            if found is None:
                raise NoNodeError(path)
            if watch is not None:
                self._watches.on_data(path, Watch(watch, seen, existed=True))
            return found

        return await self._read(read, has_watch=watch is not None)

    async def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        def read(some: Sequence[str], connection: sqlite3.Connection, _: int) -> list[Node | None]:
            return [_node(connection, path) for path in some]

        found: list[Node | None] = []
        for at in range(0, len(paths), READ_AT_ONCE):
            found += await self._read(partial(read, paths[at : at + READ_AT_ONCE]))
            await asyncio.sleep(0)
        return found

    async def exists(self, path: str, watch: Watcher | None = None) -> int | None:
        validate_path(path)

        def read(connection: sqlite3.Connection, seen: int) -> int | None:
            version = version_of(connection, path)
            if watch is not None:
                self._watches.on_data(path, Watch(watch, seen, version is not None))
            return version

        return await self._read(read, has_watch=watch is not None)

    async def get_children(self, path: str, watch: Watcher | None = None) -> list[str]:
        validate_path(path)

        def read(connection: sqlite3.Connection, seen: int) -> list[str]:
            rows = connection.execute("SELECT name FROM nodes WHERE parent = ? ORDER BY name", (path,)).fetchall()
            if not rows and version_of(connection, path) is None:
                raise NoNodeError(path)
            if watch is not None:
                self._watches.on_children(path, Watch(watch, seen, existed=True))
            return [row[0] for row in rows]

        return await self._read(read, has_watch=watch is not None)

    async def get_tree(self, path: str) -> list[tuple[str, bytes, int]]:
        below = _below(path)

        def read(connection: sqlite3.Connection) -> list[tuple[str, bytes, int]]:
            query = f"SELECT parent, name, data, version, owner, created, checksum FROM nodes WHERE {_BELOW}"
            return [(join_path(row[0], row[1]), _content(*row), row[3]) for row in connection.execute(query, below)]

        def read_few(connection: sqlite3.Connection, _: int) -> list[tuple[str, bytes, int]] | None:
            query = f"SELECT count(*) FROM (SELECT 1 FROM nodes WHERE {_BELOW} LIMIT ?)"
            count = connection.execute(query, (*below, FEW_NODES + 1)).fetchone()[0]
            return read(connection) if count <= FEW_NODES else None

        def read_many(wait_s: float) -> list[tuple[str, bytes, int]]:
            with unavailable(self.path):
                return read(self._of_writer().connection(wait_s))

        found = await self._read(read_few)
        if found is None:
            found = await self._in_writer(read_many)
            await self.poll()  # the watches of the changes that it has seen must have fired
        return found

    async def last_change(self, *paths: str) -> int | None:
        """The number of a transaction: each node has the number of the last transaction that changed it, and of the
        last one that created or deleted a child of it. A path that does not exist has the number of the store's last
        transaction."""
        query = f"SELECT max(max(changed, children_changed)) FROM nodes WHERE parent = ? AND name = ? OR {_BELOW}"

        def read(connection: sqlite3.Connection, _: int) -> int:
            found = (connection.execute(query, (*split_path(path), *_below(path))).fetchone()[0] for path in paths)
            return max(number or last_change(connection) for number in found)

        return await self._read(read)

    # ---- whether it is what it was
    async def read_mark(self) -> StoreMark | None:
        return await self.mark()

    async def mark(self) -> StoreMark:
        return StoreMark(self._store_id, await self._read(lambda connection, _: last_change(connection)))

    async def stamp(self) -> StoreMark:
        return await self.mark()

    async def has_lost(self, generation: int, path: str) -> bool:
        def read(connection: sqlite3.Connection, _: int) -> bool:
            lost_from, lost_to = self._lost
            if lost_from < generation <= lost_to:
                found = _node_changes(connection, path)
                return found is None or found.changed <= lost_to
            return generation > self._opened_at  # what was written since says nothing of what there was

        return await self._read(read)

    async def find_damage(self) -> list[str]:
        with unavailable(self.path):
            return await asyncio.get_running_loop().run_in_executor(None, find_damage, self.path)

    # ---- writes
    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        if not operations:
            return []
        self._check_session()
        session = self.session_id

        def apply(transaction: Transaction) -> list[str | int | None]:
            return transaction.apply(operations)

        try:
            results, events, change = await self._in_writer(self._transact, session, apply)
        except SessionExpiredError:
            if session and session == self.session_id:
                self._expire()
            raise
        except StoreUnavailableError:
            self._beat_now.set()
            raise
        self._watches.fire(events, change)
        return results

    async def poll(self) -> None:
        await self._read(lambda *_: None)

    # ---- in the writer thread; ``wait_s`` is what is left of the call's time
    def _transact(
        self, wait_s: float, session: int, apply: Callable[[Transaction], T]
    ) -> tuple[T, list[WatchEvent], int]:
        """Runs one transaction. Returns its result, its events and its number."""
        writer = self._of_writer()
        connection = writer.connection(wait_s)
        with unavailable(self.path):
            connection.execute("BEGIN IMMEDIATE")
            try:
                transaction = Transaction(connection, session)
                self._check_age(connection, transaction.number)
                result = apply(transaction)
                transaction.finish()
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk ends it by itself
                    connection.execute("ROLLBACK")
                raise
        writer.check_unmoved()
        self._newest = transaction.number
        self._take_down(transaction.number)
        return result, transaction.events, transaction.number

    def _of_writer(self) -> SqliteFile:
        if self._writer is None:
            self._writer = SqliteFile(self.path, self._setting)
        return self._writer

    def _check_age(self, connection: sqlite3.Connection, number: int) -> None:
        """Raises StoreUnavailableError when another store, or an older copy of this store, was put in its place."""
        store_id = connection.execute("SELECT id FROM store").fetchone()[0]
        if store_id != self._store_id or number <= self._newest:
            raise StoreUnavailableError(
                "/", f"{self.path} was replaced by another or an older one; put it back or restart"
            )

    def _take_down(self, number: int, *, is_synced: bool = False) -> None:
        """Writes the number of a commit to the mark beside the file. A sync of the mark for each commit would double
        the cost of a commit, so after a power loss the mark may be some seconds old. When the mark cannot be written,
        the next start only checks less."""
        try:
            self._mark.write(StoreMark(self._store_id, number))
            if is_synced:
                self._mark.hold()
                self._mark.sync()
        except OSError as error:
            if not self._mark_fails:
                logger.warning("%s cannot be written: %s", self._mark.path, error.strerror)
            self._mark_fails = True
        else:
            self._mark_fails = False

    def _open_session(self, wait_s: float) -> int:
        session = int.from_bytes(os.urandom(8)) >> 1  # random: a copy of the file must not have it, too

        def apply(transaction: Transaction) -> int:
            now = _now_ms()
            for over in sessions_over(transaction.connection, self._locks, 0, now, may_judge=True):
                transaction.end_session(over)
            refuse_other_hosts(transaction.connection, self.path, self._setting)
            transaction.connection.execute(
                "INSERT INTO sessions (id, process, heartbeat_ms, timeout_ms) VALUES (?, ?, ?, ?)",
                (session, own_process(), now, self._session_timeout_ms),
            )
            return session

        self._locks.hold(session)
        try:
            return self._transact(wait_s, 0, apply)[0]
        except BaseException:
            self._locks.release(session)
            raise

    def _end_sessions(
        self, wait_s: float, select: Callable[[sqlite3.Connection], list[int]]
    ) -> tuple[list[WatchEvent], int]:
        def apply(transaction: Transaction) -> None:
            for session in select(transaction.connection):
                transaction.end_session(session)

        _, events, change = self._transact(wait_s, 0, apply)
        return events, change

    def _renew(self, wait_s: float, session: int) -> None:
        def apply(transaction: Transaction) -> None:
            connection, now = transaction.connection, _now_ms()
            if is_late(connection, session, now):
                self._judges_from_ms = now + self._session_timeout_ms
            connection.execute("UPDATE sessions SET heartbeat_ms = ? WHERE id = ?", (now, session))

        number = self._transact(wait_s, session, apply)[2]
        self._take_down(number, is_synced=True)

    def _over(self, connection: sqlite3.Connection) -> list[int]:
        """The other sessions that are over; only those of dead processes while this process cannot judge which ones
        hang."""
        now = _now_ms()
        may_judge = now >= self._judges_from_ms and not is_late(connection, self.session_id, now)
        return sessions_over(connection, self._locks, self.session_id, now, may_judge=may_judge)

    # ---- tasks of a session
    async def _keep_polling(self) -> None:
        """Notices the changes of other processes, and which sessions are over."""
        looked = 0.0
        while self.session_id:
            if self._watches.is_empty():
                self._has_watches.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._has_watches.wait()
            else:
                await asyncio.sleep(self._poll_s)
            try:
                await self.poll()
                if time.monotonic() - looked >= LOOK_S:
                    looked = time.monotonic()
                    await self._look_around()
            except StoreUnavailableError:
                self._beat_now.set()
            except SessionExpiredError:
                return

    async def _look_around(self) -> None:
        session = self.session_id

        def read(connection: sqlite3.Connection, _: int) -> list[int] | None:
            return self._over(connection) if session_lives(connection, session) else None

        over = await self._read(read)
        if session != self.session_id:
            return
        if over is None:
            self._expire()
        elif over:
            events, change = await self._in_writer(self._end_sessions, self._over)
            self._watches.fire(events, change)

    async def _keep_beating(self) -> None:
        """Renews the heartbeat; finds out with it whether the store can be written to."""
        session = self.session_id
        while True:
            delay_s = self._session_timeout_ms / 3000
            try:
                await self._in_writer(self._renew, session)
                await self.poll()
                self._tell(CONNECTED)
            except StoreUnavailableError:
                self._tell(SUSPENDED)
                delay_s = min(delay_s, LOOK_S)
                await asyncio.sleep(delay_s)
            except SessionExpiredError:
                if session == self.session_id:
                    self._expire()
                return
            else:
                self._beat_now.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay_s):
                        await self._beat_now.wait()

    async def _stop_tasks(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _expire(self) -> None:
        self.session_id = 0
        self._watches.clear()
        self._tell(EXPIRED)

    def _tell(self, state: str) -> None:
        if state != self._state and not (state == SUSPENDED and self._state == EXPIRED):
            self._state = state
            for listener in list(self._listeners):
                listener(state)

    def _check_session(self) -> None:
        if self._state == EXPIRED:
            raise SessionExpiredError("/")

    # ---- inside
    async def _read(self, read: Callable[[sqlite3.Connection, int], T], *, has_watch: bool = False) -> T:
        """Calls ``read(connection, number of the last change)``; when ``read`` sets a watch, the number is of the same
        snapshot as the data (else it is 0). Waits for locks. Before this returns, the watches of all changes that
        ``read`` may have seen have fired."""
        if has_watch:
            self._has_watches.set()
        deadline = time.monotonic() + self._call_timeout_s
        while True:
            self._check_session()
            try:
                connection = self._reader.connection()
                with unavailable(self.path):
                    try:
                        return _read_at_once(connection, read) if has_watch else read(connection, 0)
                    finally:
                        self._notice(connection)
            except StoreUnavailableError as error:
                if not is_busy(error) or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(BUSY_RETRY_S)

    def _notice(self, connection: sqlite3.Connection) -> None:
        """Fires the watches of the nodes that changed since the last call."""
        if self._watches.is_empty():
            return
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if (id(connection), version) == self._seen_file:
            return
        self._seen_file = id(connection), version
        for path in self._watches.data_paths():
            self._watches.compare_data(path, _node_changes(connection, path))
        for path in self._watches.children_paths():
            self._watches.compare_children(path, _node_changes(connection, path))

    async def _in_writer(
        self, function: Callable[Concatenate[float, P], T], *arguments: P.args, **named: P.kwargs
    ) -> T:
        """Calls ``function(seconds left, *arguments)`` in the writer thread, unless the thread gets to it too late."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata-writer")
        deadline = time.monotonic() + self._call_timeout_s

        def run() -> T:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise StoreUnavailableError("/", f"{self.path}: earlier writes took longer than the time limit")
            return function(left_s, *arguments, **named)

        future = asyncio.get_running_loop().run_in_executor(self._thread, run)
        future.add_done_callback(_forget)  # the request that waits may be cancelled or time out
        done, _ = await asyncio.wait([future], timeout=self._call_timeout_s + STUCK_GRACE_S)
        if done:
            return future.result()
        raise StoreUnavailableError("/", f"{self.path}: the disk has not answered within the time limit")


_BELOW = "parent = ? OR (parent > ? AND parent < ?)"


def _below(path: str) -> tuple[str, str, str]:
    """The parameters of ``_BELOW``."""
    validate_path(path)
    prefix = path if path == "/" else path + "/"
    return path, prefix, prefix[:-1] + "0"  # which comes after "/"


def _identity(file: SqliteFile, setting: str) -> tuple[str, tuple[int, int], int]:
    """The identity of the store, the range of changes that it has lost (excluding the first, including the last), and
    its last change. Raises StartupError."""
    try:
        connection = file.connection()
        store_id, *lost = connection.execute("SELECT id, lost_from, lost_to FROM store").fetchone()
        return store_id, (lost[0], lost[1]), last_change(connection)
    except (sqlite3.Error, TypeError) as error:
        raise StartupError(f"{setting}: {file.path} is damaged ({error}); {WAYS_OUT}") from None


def _content(parent: str, name: str, data: Any, version: int, owner: int, created: int, checksum: int) -> bytes:
    """The content of a node, or DAMAGED when its checksum is wrong."""
    if not isinstance(data, bytes):  # a flip in a row's header
        return DAMAGED
    return data if checksum_of(parent, name, data, version, owner, created) == checksum else DAMAGED


def _node(connection: sqlite3.Connection, path: str) -> Node | None:
    parent, name = split_path(path)
    query = "SELECT data, version, owner, created, checksum FROM nodes WHERE parent = ? AND name = ?"
    row = connection.execute(query, (parent, name)).fetchone()
    return None if row is None else Node(_content(parent, name, *row), *row[1:4])


def _read_at_once(connection: sqlite3.Connection, read: Callable[[sqlite3.Connection, int], T]) -> T:
    """Calls ``read`` in one snapshot of the file."""
    connection.execute("BEGIN")
    try:
        return read(connection, last_change(connection))
    finally:
        connection.execute("COMMIT")


def _node_changes(connection: sqlite3.Connection, path: str) -> NodeChanges | None:
    row = connection.execute(
        "SELECT changed, children_changed FROM nodes WHERE parent = ? AND name = ?", split_path(path)
    ).fetchone()
    return None if row is None else NodeChanges(*row)


def _forget(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()  # the caller may have been cancelled or timed out


def _now_ms() -> int:
    """The time of the clock that all processes of this host share since its boot; it does not jump."""
    return time.monotonic_ns() // 1_000_000
