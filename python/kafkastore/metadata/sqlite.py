"""The metadata store in one SQLite file: one host, any number of processes.

``nodes(parent, name, data, version, sequence, owner)`` holds the tree (the root is ``'', ''``),
``sessions(id, process, heartbeat_ms, timeout_ms)`` the processes that own ephemeral nodes. The file is in WAL mode with
``synchronous=FULL``: a commit is one fsync and durable when it returns. Writes run one at a time in a writer thread, so
that an fsync never stalls the loop; reads run on the loop on a connection of their own and see every commit that was
awaited.

A session is over when its process is gone (same process id and start time no longer there) or has not renewed its
heartbeat within the session's timeout. Watches of this process fire from the changes that its own writes made; what
other processes changed is noticed by :meth:`SqliteStore.poll` through ``PRAGMA data_version``.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from kafkastore.errors import StartupError
from kafkastore.metadata.store import (
    ANY_VERSION,
    CHILDREN_CHANGED,
    CREATED,
    DATA_CHANGED,
    DELETED,
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
    WatchEvent,
    ancestors,
    join_path,
    parent_of,
    split_path,
    validate_path,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from kafkastore.metadata.store import Operation, Watcher

    T = TypeVar("T")

SESSION_TIMEOUT_MS = 18_000
"""Kafka's zookeeper.session.timeout.ms: how long a hung process keeps its ephemeral nodes."""

BUSY_TIMEOUT_MS = 10_000
"""How long a write waits for another process's; commits take milliseconds, so this is a process that hangs."""

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
"""The metadata says who may do what: nobody but the broker's user reads it."""

_MAGIC = b"SQLite format 3\0"

_AT = "WHERE parent = ? AND name = ?"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS nodes (
    parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0, owner INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (parent, name)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS ephemerals ON nodes (owner) WHERE owner <> 0;
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, process TEXT NOT NULL, heartbeat_ms INTEGER NOT NULL, timeout_ms INTEGER NOT NULL);
INSERT OR IGNORE INTO nodes (parent, name, data) VALUES ('', '', x'');
PRAGMA user_version = 1;
"""


class SqliteStore:
    """See the module. Methods run on one loop."""

    def __init__(self, path: str, setting: str | None = None) -> None:
        """``setting`` is the ``key=value`` that a refusal names."""
        self.path = path
        self.setting = setting or f"kafkastore.metadata.path={path}"
        self.session_id = 0
        self._reader = _open(path, self.setting)
        self._writer: sqlite3.Connection | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._watches = _Watches()
        self._heartbeat: asyncio.TimerHandle | None = None
        self._data_version = self._read_data_version()

    # ---- session
    async def connect(self) -> None:
        self.session_id = await self._in_writer(self._open_session)
        self._schedule_heartbeat()

    async def close(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            self._heartbeat = None
        if self.session_id:
            self._watches.fire(await self._in_writer(self._end_sessions, [self.session_id]))
            self.session_id = 0
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._reader.close()

    # ---- reads
    async def get(self, path: str, watch: Watcher | None = None) -> Node:
        validate_path(path)
        row = self._reader.execute(f"SELECT data, version, owner FROM nodes {_AT}", split_path(path)).fetchone()
        if row is None:
            raise NoNodeError(path)
        if watch is not None:
            self._watches.on_data(path, row[1], watch)
        return Node(*row)

    async def exists(self, path: str, watch: Watcher | None = None) -> int | None:
        validate_path(path)
        version = _version(self._reader, path)
        if watch is not None:
            self._watches.on_data(path, version, watch)
        return version

    async def get_children(self, path: str, watch: Watcher | None = None) -> list[str]:
        validate_path(path)
        names = self._children(path)
        if not names and await self.exists(path) is None:
            raise NoNodeError(path)
        if watch is not None:
            self._watches.on_children(path, names, watch)
        return names

    async def get_tree(self, path: str) -> list[tuple[str, bytes, int]]:
        validate_path(path)
        prefix = path if path == "/" else path + "/"
        rows = self._reader.execute(
            "SELECT parent, name, data, version FROM nodes WHERE parent = ? OR (parent > ? AND parent < ?)",
            (path, prefix, prefix[:-1] + "0"),  # "0" comes after "/"
        )
        return [(join_path(parent, name), data, version) for parent, name, data, version in rows]

    async def delete_tree(self, path: str) -> list[Operation]:
        if await self.exists(path) is None:
            return []
        below = [Delete(node[0]) for node in await self.get_tree(path)]
        below.sort(key=lambda operation: operation.path.count("/"), reverse=True)
        return [*below, Delete(path)]

    # ---- writes
    async def create(
        self, path: str, data: bytes = b"", *, is_ephemeral: bool = False, is_sequential: bool = False
    ) -> str:
        results = await self.multi([Create(path, data, is_ephemeral, is_sequential)])
        return str(results[0])

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> int:
        results = await self.multi([SetData(path, data, version)])
        assert isinstance(results[0], int)
        return results[0]

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        await self.multi([Delete(path, version)])

    async def multi(self, operations: Sequence[Operation]) -> list[str | int | None]:
        if not operations:
            return []
        results, events = await self._in_writer(self._apply_all, operations)
        self._watches.fire(events)
        return results

    async def ensure_path(self, path: str) -> None:
        missing = [Create(one) for one in ancestors(path) if await self.exists(one) is None]
        try:
            await self.multi(missing)
        except NodeExistsError:  # another process was faster with one of them
            await self.ensure_path(path)

    async def poll(self) -> None:
        if self._watches.is_empty():
            return
        data_version = self._read_data_version()
        if data_version != self._data_version:
            self._data_version = data_version
            self._watches.compare(lambda path: _version(self._reader, path), self._children)

    # ---- in the writer thread
    def _apply_all(self, operations: Sequence[Operation]) -> tuple[list[str | int | None], list[WatchEvent]]:
        """One transaction. Runs of plain creates go in with one executemany, which is what makes 10,000 nodes cheap."""
        connection = self._writable()
        events: list[WatchEvent] = []
        connection.execute("BEGIN IMMEDIATE")
        try:
            results = _Transaction(connection, self.session_id, events).apply(operations)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return results, events

    def _open_session(self) -> int:
        connection = self._writable()
        rows = connection.execute("SELECT id, process, heartbeat_ms, timeout_ms FROM sessions").fetchall()
        now = _now_ms()
        over = [row[0] for row in rows if not _is_alive(row[1]) or now - row[2] > row[3]]
        self._end_sessions(over)
        connection.execute("BEGIN IMMEDIATE")
        cursor = connection.execute(
            "INSERT INTO sessions (process, heartbeat_ms, timeout_ms) VALUES (?, ?, ?)",
            (_process_identity(os.getpid()), now, SESSION_TIMEOUT_MS),
        )
        connection.execute("COMMIT")
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _end_sessions(self, sessions: Sequence[int]) -> list[WatchEvent]:
        connection = self._writable()
        events: list[WatchEvent] = []
        if not sessions:
            return events
        connection.execute("BEGIN IMMEDIATE")
        for session in sessions:
            for parent, name in connection.execute("SELECT parent, name FROM nodes WHERE owner = ?", (session,)):
                events += [WatchEvent(DELETED, join_path(parent, name)), WatchEvent(CHILDREN_CHANGED, parent)]
            connection.execute("DELETE FROM nodes WHERE owner = ?", (session,))
            connection.execute("DELETE FROM sessions WHERE id = ?", (session,))
        connection.execute("COMMIT")
        return events

    def _renew(self) -> list[WatchEvent]:
        """Renews this session's heartbeat and ends the sessions of others that are over."""
        connection = self._writable()
        now = _now_ms()
        connection.execute("UPDATE sessions SET heartbeat_ms = ? WHERE id = ?", (now, self.session_id))
        rows = connection.execute(
            "SELECT id, process, heartbeat_ms, timeout_ms FROM sessions WHERE id <> ?", (self.session_id,)
        ).fetchall()
        return self._end_sessions([row[0] for row in rows if not _is_alive(row[1]) or now - row[2] > row[3]])

    # ---- inside
    async def _in_writer(self, function: Callable[..., T], *arguments: Any) -> T:
        import asyncio

        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="metadata-writer")
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _writable(self) -> sqlite3.Connection:
        if self._writer is None:
            self._writer = _open(self.path, self.setting)
        return self._writer

    def _schedule_heartbeat(self) -> None:
        import asyncio

        loop = asyncio.get_running_loop()
        self._heartbeat = loop.call_later(SESSION_TIMEOUT_MS / 3000, self._beat)

    def _beat(self) -> None:
        import asyncio

        async def beat() -> None:
            self._watches.fire(await self._in_writer(self._renew))
            if self.session_id:
                self._schedule_heartbeat()

        self._beating = asyncio.get_running_loop().create_task(beat())

    def _children(self, path: str) -> list[str]:
        rows = self._reader.execute("SELECT name FROM nodes WHERE parent = ? ORDER BY name", (path,))
        return [row[0] for row in rows]

    def _read_data_version(self) -> int:
        version: int = self._reader.execute("PRAGMA data_version").fetchone()[0]
        return version


class _Transaction:
    """Applies operations inside an open transaction and collects the events they cause."""

    def __init__(self, connection: sqlite3.Connection, session_id: int, events: list[WatchEvent]) -> None:
        self.connection = connection
        self.session_id = session_id
        self.events = events

    def apply(self, operations: Sequence[Operation]) -> list[str | int | None]:
        results: list[str | int | None] = []
        position = 0
        while position < len(operations):
            end = position
            while end < len(operations) and _is_plain_create(operations[end]):
                end += 1
            if end - position > 1:
                results += self._create_many(operations[position:end])
                position = end
            else:
                results.append(self._apply(operations[position]))
                position += 1
        return results

    def _apply(self, operation: Operation) -> str | int | None:
        validate_path(operation.path)
        if isinstance(operation, Create):
            return self._create(operation)
        version = _version(self.connection, operation.path)
        if version is None:
            raise NoNodeError(operation.path)
        if operation.version not in (ANY_VERSION, version):
            raise BadVersionError(operation.path)
        if isinstance(operation, Check):
            return None
        if isinstance(operation, SetData):
            self.connection.execute(
                f"UPDATE nodes SET data = ?, version = version + 1 {_AT}", (operation.data, *split_path(operation.path))
            )
            self.events.append(WatchEvent(DATA_CHANGED, operation.path))
            return version + 1
        self._delete(operation.path)
        return None

    def _create(self, operation: Create) -> str:
        parent, name = split_path(operation.path)
        sequence = self._check_parent(parent)
        if operation.is_sequential:
            name = f"{name}{sequence:010d}"
            self.connection.execute(f"UPDATE nodes SET sequence = sequence + 1 {_AT}", split_path(parent))
        path = join_path(parent, name)
        if operation.is_ephemeral and not self._session_lives():
            raise SessionExpiredError(path)
        owner = self.session_id if operation.is_ephemeral else 0
        try:
            self.connection.execute(
                "INSERT INTO nodes (parent, name, data, owner) VALUES (?, ?, ?, ?)",
                (parent, name, operation.data, owner),
            )
        except sqlite3.IntegrityError:
            raise NodeExistsError(path) from None
        self.events += [WatchEvent(CREATED, path), WatchEvent(CHILDREN_CHANGED, parent)]
        return path

    def _create_many(self, operations: Sequence[Operation]) -> list[str | int | None]:
        """Plain creates in one statement: parents must exist before the run or stand earlier in it."""
        rows = []
        known: set[str] = set()
        for operation in operations:
            assert isinstance(operation, Create)
            path = operation.path
            validate_path(path)
            parent, name = split_path(path)
            if parent not in known:
                self._check_parent(parent)
                known.add(parent)
                self.events.append(WatchEvent(CHILDREN_CHANGED, parent))
            if path in known:
                raise NodeExistsError(path)
            known.add(path)
            rows.append((parent, name, operation.data))
        try:
            self.connection.executemany("INSERT INTO nodes (parent, name, data) VALUES (?, ?, ?)", rows)
        except sqlite3.IntegrityError as error:
            raise NodeExistsError(operations[0].path, f"One of the nodes to create exists already: {error}") from None
        paths = [operation.path for operation in operations]
        self.events += [WatchEvent(CREATED, path) for path in paths]
        return list(paths)

    def _delete(self, path: str) -> None:
        if self.connection.execute("SELECT 1 FROM nodes WHERE parent = ? LIMIT 1", (path,)).fetchone():
            raise NotEmptyError(path)
        self.connection.execute(f"DELETE FROM nodes {_AT}", split_path(path))
        self.events += [WatchEvent(DELETED, path), WatchEvent(CHILDREN_CHANGED, parent_of(path))]

    def _check_parent(self, parent: str) -> int:
        """The parent's next sequence number. Raises when it cannot have children."""
        row = self.connection.execute(f"SELECT owner, sequence FROM nodes {_AT}", split_path(parent)).fetchone()
        if row is None:
            raise NoNodeError(parent)
        if row[0]:
            raise NoChildrenForEphemeralsError(parent)
        sequence: int = row[1]
        return sequence

    def _session_lives(self) -> bool:
        row = self.connection.execute("SELECT 1 FROM sessions WHERE id = ?", (self.session_id,)).fetchone()
        return row is not None


class _Watches:
    """One-shot watches of this process, each with what it saw when it was set."""

    def __init__(self) -> None:
        self._data: dict[str, list[tuple[int | None, Watcher]]] = {}
        self._children: dict[str, list[tuple[list[str], Watcher]]] = {}

    def is_empty(self) -> bool:
        return not self._data and not self._children

    def on_data(self, path: str, version: int | None, watch: Watcher) -> None:
        self._data.setdefault(path, []).append((version, watch))

    def on_children(self, path: str, names: list[str], watch: Watcher) -> None:
        self._children.setdefault(path, []).append((names, watch))

    def fire(self, events: Sequence[WatchEvent]) -> None:
        """Calls and forgets whoever watches what changed."""
        if self.is_empty():
            return
        for event in events:
            if event.kind in (CREATED, DATA_CHANGED, DELETED):
                for _, watch in self._data.pop(event.path, ()):
                    watch(event)
            if event.kind in (CHILDREN_CHANGED, DELETED):
                for _, watch in self._children.pop(event.path, ()):
                    watch(event)

    def compare(self, version_of: Callable[[str], int | None], children_of: Callable[[str], list[str]]) -> None:
        """Fires the watches whose node is no longer what it was when they were set."""
        events = []
        for path, entries in self._data.items():
            seen, now = entries[0][0], version_of(path)
            if seen != now:
                kind = DELETED if now is None else CREATED if seen is None else DATA_CHANGED
                events.append(WatchEvent(kind, path))
        for path, watchers in self._children.items():
            if watchers[0][0] != children_of(path):
                gone = version_of(path) is None
                events.append(WatchEvent(DELETED if gone else CHILDREN_CHANGED, path))
        self.fire(events)


def _version(connection: sqlite3.Connection, path: str) -> int | None:
    row = connection.execute(f"SELECT version FROM nodes {_AT}", split_path(path)).fetchone()
    return None if row is None else row[0]


def _is_plain_create(operation: Operation) -> bool:
    return isinstance(operation, Create) and not operation.is_ephemeral and not operation.is_sequential


def _make_private(path: str) -> None:
    """Makes the file and the directories above it where they are missing, for their owner only whatever the umask is.
    SQLite gives ``-wal`` and ``-shm`` the file's permissions."""
    missing = []
    directory = os.path.dirname(path)
    while not os.path.isdir(directory):
        missing.append(directory)
        directory = os.path.dirname(directory)
    for one in reversed(missing):
        with suppress(FileExistsError):  # made meanwhile; a file of that name fails below
            os.mkdir(one, DIRECTORY_MODE)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        if os.read(file, len(_MAGIC)) not in (b"", _MAGIC):  # SQLite would overwrite a short one
            raise sqlite3.DatabaseError("file is not a database")
    finally:
        os.close(file)


def _open(path: str, setting: str) -> sqlite3.Connection:
    """A connection to the file, which is made when it is not there. Raises StartupError naming the path and ``setting``."""
    try:
        _make_private(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
    except OSError as error:
        reason = error.strerror or str(error)
        raise StartupError(
            f"{setting}: {path} cannot be opened: {reason}; make its directory writable or set"
            f" {setting.partition('=')[0]} to one that is"
        ) from None
    except sqlite3.Error as error:
        raise StartupError(
            f"{setting}: {path} cannot be opened: {error}; make it writable, restore it, or set"
            " kafkastore.metadata.path to another file"
        ) from None
    return connection


def _process_identity(pid: int) -> str | None:
    """``pid:start time`` of a process of this host, which no later process shares; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return f"{pid}:" if _exists(pid) else None
    return f"{pid}:{fields[19].decode()}"


def _is_alive(process: str) -> bool:
    return _process_identity(int(process.partition(":")[0])) == process


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _now_ms() -> int:
    return int(time.time() * 1000)
