"""The SQLite file of the metadata store: its schema, its connections, and its errors.

``nodes(parent, name, data, version, sequence, owner, created, changed, children_changed)`` holds the tree (the root is
``'', ''``), ``changes(last)`` the number of the last transaction, ``sessions(id, process, heartbeat_ms, timeout_ms)``
the processes that own ephemeral nodes; heartbeats are of the clock that all processes of the host share since its boot.
``store`` has one row: the store's identity, made with it, and the range of changes that a restored backup has lost
(``lost_from`` excluded). Each node has a checksum over its path, data, version, owner and creation. The file is in WAL
mode with ``synchronous=FULL``: a commit is one fsync and durable when it returns.

A file that is missing, or is not the one that was opened, is neither written to nor created again: only the constructor
creates a file. This module waits for nothing but SQLite's own locks. Whether a file has lost something is judged before
it is opened (``sqlite_check.py``).
"""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kafkastore.errors import StartupError
from kafkastore.metadata.processes import is_alive
from kafkastore.metadata.sqlite_check import UNREADABLE, is_in_the_way
from kafkastore.metadata.sqlite_transaction import checksum_of
from kafkastore.metadata.store import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA_VERSION = 3

FILE_MODE = 0o600
DIRECTORY_MODE = 0o700
"""The metadata says who may do what: only the broker's user may read it."""

OPEN_TIMEOUT_S = 10.0
"""How long a start waits for another process's lock; commits take milliseconds, so this is a process that hangs."""

_MAGIC = b"SQLite format 3\0"

_HEADER_BYTES = 100
"""The header of a database file; a shorter file is no database."""

_IDENTITY = """
CREATE TABLE store (id TEXT NOT NULL, lost_from INTEGER NOT NULL DEFAULT 0, lost_to INTEGER NOT NULL DEFAULT 0);
INSERT INTO store (id) VALUES (lower(hex(randomblob(16))));
"""

_SCHEMA = f"""
CREATE TABLE nodes (
    parent TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL, version INTEGER NOT NULL DEFAULT 0,
    sequence INTEGER NOT NULL DEFAULT 0, owner INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL DEFAULT 1,
    changed INTEGER NOT NULL DEFAULT 1, children_changed INTEGER NOT NULL DEFAULT 1,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (parent, name)) WITHOUT ROWID;
CREATE INDEX ephemerals ON nodes (owner) WHERE owner <> 0;
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, process TEXT NOT NULL, heartbeat_ms INTEGER NOT NULL, timeout_ms INTEGER NOT NULL);
CREATE TABLE changes (last INTEGER NOT NULL);
INSERT INTO nodes (parent, name, data) VALUES ('', '', x'');
INSERT INTO changes VALUES (1);
{_IDENTITY}
UPDATE nodes SET checksum = checksum_of(parent, name, data, version, owner, created);
PRAGMA user_version = {SCHEMA_VERSION};
"""

_FROM_VERSION_1 = """
ALTER TABLE nodes ADD COLUMN created INTEGER NOT NULL DEFAULT 1;
ALTER TABLE nodes ADD COLUMN changed INTEGER NOT NULL DEFAULT 1;
ALTER TABLE nodes ADD COLUMN children_changed INTEGER NOT NULL DEFAULT 1;
CREATE TABLE changes (last INTEGER NOT NULL);
INSERT INTO changes VALUES (1);
DELETE FROM nodes WHERE owner <> 0;
DELETE FROM sessions;
"""
"""All nodes that were there count as made by change 1. Heartbeats were of another clock, so all sessions end: their
processes are gone, or the migration is refused."""

_FROM_VERSION_2 = f"""
ALTER TABLE nodes ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
UPDATE nodes SET checksum = checksum_of(parent, name, data, version, owner, created);
{_IDENTITY}
PRAGMA user_version = {SCHEMA_VERSION};
"""
"""An older process would write nodes without a checksum: while one runs, the migration is refused."""


class SqliteFile:
    """One connection to the file, opened anew when the file was replaced. Used by one thread at a time."""

    def __init__(self, path: str, setting: str) -> None:
        """Makes the file when it is not there. Raises StartupError naming the path and ``setting``."""
        self.path = path
        self._connection: sqlite3.Connection | None = _open_at_start(path, setting)
        self._inode = _inode(path)
        self._timeout_s = OPEN_TIMEOUT_S
        self._looked_at: int | None = None  # the descriptor that a replaced file was looked at with

    def connection(self, timeout_s: float = 0.0) -> sqlite3.Connection:
        """The connection to the file that is at the path now, which waits ``timeout_s`` for locks. Raises
        StoreUnavailableError."""
        inode = _inode(self.path)
        if inode is None:
            raise StoreUnavailableError("/", f"{self.path} is not there any more; put it back or restart")
        with unavailable(self.path):
            if inode != self._inode or self._connection is None:
                self.close()
                self._look_at_file()
                self._connection = _reopen(self.path)
                self._inode = inode
                self._timeout_s = 0.0
            if timeout_s != self._timeout_s:
                self._connection.execute(f"PRAGMA busy_timeout = {int(timeout_s * 1000)}")
                self._timeout_s = timeout_s
        return self._connection

    def check_unmoved(self) -> None:
        """Raises StoreUnavailableError when the file that was just written to is not the one at the path."""
        if _inode(self.path) != self._inode:
            raise StoreUnavailableError("/", f"{self.path} was replaced while it was written to")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # a full disk: the next open recovers what the WAL has
                connection.close()
        descriptor, self._looked_at = self._looked_at, None
        if descriptor is not None:
            os.close(descriptor)

    def _look_at_file(self) -> None:
        """Raises sqlite3.DatabaseError when the file is no database: SQLite would make it one from the content of
        ``-wal``. The descriptor stays open as long as the connection: closing it takes away every lock of this process
        on the file (POSIX)."""
        try:
            self._looked_at = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror or str(error)) from None
        if os.read(self._looked_at, len(_MAGIC)) != _MAGIC:  # perhaps being copied
            raise sqlite3.DatabaseError("file is not a database")


@contextmanager
def unavailable(path: str) -> Iterator[None]:
    """Raises SQLite's errors about the file, its disk or its locks as StoreUnavailableError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreUnavailableError("/", f"{path}: {error}") from error


def is_busy(error: StoreUnavailableError) -> bool:
    """Whether another process's lock was in the way, so that trying again may help."""
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _connect(path: str, timeout_s: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=timeout_s, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        if sys.platform == "darwin":  # F_FULLFSYNC, as system.sync_descriptor
            connection.execute("PRAGMA fullfsync = ON")
            connection.execute("PRAGMA checkpoint_fullfsync = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_patiently(path: str) -> sqlite3.Connection:
    """Several processes that open a new file at once: SQLite refuses to wait while another one makes it a WAL."""
    deadline = time.monotonic() + OPEN_TIMEOUT_S
    while True:
        try:
            return _connect(path, OPEN_TIMEOUT_S)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.02)


def _schema_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _reopen(path: str) -> sqlite3.Connection:
    connection = _connect(path, 0.0)
    version = _schema_version(connection)
    if version != SCHEMA_VERSION:
        connection.close()
        raise sqlite3.DatabaseError(f"its version is {version}, not {SCHEMA_VERSION}")
    return connection


def _open_at_start(path: str, setting: str) -> sqlite3.Connection:
    try:
        _make_private(path)
        connection = _connect_patiently(path)
        _bring_up_to_date(connection, path, setting)
    except OSError as error:
        reason, key = error.strerror or str(error), setting.partition("=")[0]
        mend = f"make its directory writable or set {key} to one that is"
        if isinstance(error, NotADirectoryError):
            mend = f"set {key} to a directory"
        raise StartupError(f"{setting}: {path} cannot be opened: {reason}; {mend}") from None
    except sqlite3.Error as error:
        mend = "make it writable, restore it, or set kafkastore.metadata.path to another file"
        if is_in_the_way(error):
            mend = UNREADABLE
        raise StartupError(f"{setting}: {path} cannot be opened: {error}; {mend}") from None
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, path: str, setting: str) -> None:
    if _schema_version(connection) == SCHEMA_VERSION:
        return
    if _schema_version(connection) > SCHEMA_VERSION:
        connection.close()
        raise StartupError(
            f"{setting}: {path} was written by a newer version of kafkastore; start that one, or set"
            " kafkastore.metadata.path to another file"
        )
    connection.execute("BEGIN IMMEDIATE")
    version = _schema_version(connection)  # another process may have been faster
    try:
        connection.create_function("checksum_of", 6, checksum_of, deterministic=True)
        if version == 0:
            _run(connection, _SCHEMA)
        elif version < SCHEMA_VERSION:
            _refuse_live_sessions(connection, path, setting)
            if version == 1:
                _run(connection, _FROM_VERSION_1)
            _run(connection, _FROM_VERSION_2)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.close()
        raise


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Statement by statement: ``executescript`` would commit first."""
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def _refuse_live_sessions(connection: sqlite3.Connection, path: str, setting: str) -> None:
    for (process,) in connection.execute("SELECT process FROM sessions").fetchall():
        if is_alive(process):
            raise StartupError(
                f"{setting}: {path} is in use by process {process.partition(':')[0]} of an older version of "
                "kafkastore; stop it first"
            )


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
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    # An existing file is looked at by name alone. Opening and closing it would take away the locks that another
    # connection of this process holds on it (POSIX), and the next process to close the file would then think that it is
    # the last.
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if 0 < os.stat(path).st_size < _HEADER_BYTES:  # SQLite would overwrite it
        raise sqlite3.DatabaseError("file is not a database")
