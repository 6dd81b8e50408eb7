"""Applies operations inside an open SQLite transaction and collects the events they cause. Never begins or commits one.

Every transaction has a number, one more than the last one's: nodes that it creates or sets bear it, and so do the
parents whose children it changes.
"""

from __future__ import annotations

import sqlite3
import zlib
from typing import TYPE_CHECKING, Final

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
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    SessionExpiredError,
    SetData,
    WatchEvent,
    join_path,
    split_path,
    validate_path,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkastore.metadata.store import Operation

_AT = "WHERE parent = ? AND name = ?"
_NEW = "parent, name, data, created, changed, children_changed, checksum"

DAMAGED: Final = b"\xff its checksum in the metadata store is wrong"
"""What is read in place of a damaged content: no decoder accepts it, so the node is reported and left out."""


class Transaction:
    """See the module. With ``session_id`` 0, before a session is open, only persistent nodes can be written."""

    def __init__(self, connection: sqlite3.Connection, session_id: int) -> None:
        """Raises SessionExpiredError when the session has been ended, perhaps by another process."""
        self.connection = connection
        self.session_id = session_id
        self.events: list[WatchEvent] = []
        self._parents: dict[str, None] = {}  # nodes whose children have changed; finish() notes each once
        if session_id and not session_lives(connection, session_id):
            raise SessionExpiredError("/")
        connection.execute("UPDATE changes SET last = last + 1")
        self.number = last_change(connection)

    def apply(self, operations: Sequence[Operation]) -> list[str | int | None]:
        """Runs of plain creates go in with one executemany, which is what makes 10,000 nodes cheap."""
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

    def finish(self) -> None:
        """Notes the change of the parents' children; called last, before the commit."""
        rows = [(self.number, *split_path(parent)) for parent in self._parents]
        self.connection.executemany(f"UPDATE nodes SET children_changed = ? {_AT}", rows)
        self.events += [WatchEvent(CHILDREN_CHANGED, parent) for parent in self._parents]

    def end_session(self, session: int) -> None:
        """Deletes a session with its ephemeral nodes."""
        rows = self.connection.execute("SELECT parent, name FROM nodes WHERE owner = ?", (session,)).fetchall()
        for parent, name in rows:
            self.events.append(WatchEvent(DELETED, join_path(parent, name)))
            self._parents[parent] = None
        self.connection.execute("DELETE FROM nodes WHERE owner = ?", (session,))
        self.connection.execute("DELETE FROM sessions WHERE id = ?", (session,))

    def _apply(self, operation: Operation) -> str | int | None:
        validate_path(operation.path)
        if isinstance(operation, Create):
            return self._create(operation)
        if isinstance(operation, Delete) and operation.version == ANY_VERSION:
            self._delete(operation.path)
            return None
        row = self.connection.execute(
            f"SELECT version, owner, created FROM nodes {_AT}", split_path(operation.path)
        ).fetchone()
        if row is None:
            raise NoNodeError(operation.path)
        version, owner, created = row
        if operation.version not in (ANY_VERSION, version):
            raise BadVersionError(operation.path)
        if isinstance(operation, Check):
            return None
        if isinstance(operation, SetData):
            parent, name = split_path(operation.path)
            checksum = checksum_of(parent, name, operation.data, version + 1, owner, created)
            self.connection.execute(
                f"UPDATE nodes SET data = ?, version = version + 1, changed = ?, checksum = ? {_AT}",
                (operation.data, self.number, checksum, parent, name),
            )
            self.events.append(WatchEvent(DATA_CHANGED, operation.path))
            return int(version) + 1
        self._delete(operation.path)
        return None

    def _create(self, operation: Create) -> str:
        parent, name = split_path(operation.path)
        sequence = self._check_parent(parent)
        if operation.is_sequential:
            name = f"{name}{sequence:010d}"
            self.connection.execute(f"UPDATE nodes SET sequence = sequence + 1 {_AT}", split_path(parent))
        path = join_path(parent, name)
        if operation.is_ephemeral and not self.session_id:
            raise SessionExpiredError(path)
        owner = self.session_id if operation.is_ephemeral else 0
        checksum = checksum_of(parent, name, operation.data, 0, owner, self.number)
        try:
            self.connection.execute(
                f"INSERT INTO nodes ({_NEW}, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (parent, name, operation.data, *[self.number] * 3, checksum, owner),
            )
        except sqlite3.IntegrityError:
            raise NodeExistsError(path) from None
        self.events.append(WatchEvent(CREATED, path))
        self._parents[parent] = None
        return path

    def _create_many(self, operations: Sequence[Operation]) -> list[str | int | None]:
        """Plain creates in one statement: parents must exist before the run or stand earlier in it."""
        rows = []
        known: set[str] = set()
        parents = []
        for operation in operations:
            assert isinstance(operation, Create)
            path = operation.path
            validate_path(path)
            parent, name = split_path(path)
            if parent not in known:  # neither made in this run, which nobody can watch yet, nor looked at
                self._check_parent(parent)
                known.add(parent)
                parents.append(parent)
            if path in known:
                raise NodeExistsError(path)
            known.add(path)
            checksum = checksum_of(parent, name, operation.data, 0, 0, self.number)
            rows.append((parent, name, operation.data, self.number, self.number, self.number, checksum))
        try:
            self.connection.executemany(f"INSERT INTO nodes ({_NEW}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.IntegrityError as error:
            raise NodeExistsError(operations[0].path, f"One of the nodes to create exists already: {error}") from None
        paths = [operation.path for operation in operations]
        self.events += [WatchEvent(CREATED, path) for path in paths]
        self._parents.update(dict.fromkeys(parents))
        return list(paths)

    def _delete(self, path: str) -> None:
        parent, name = split_path(path)
        query = f"DELETE FROM nodes {_AT} AND NOT EXISTS (SELECT 1 FROM nodes WHERE parent = ?)"
        if self.connection.execute(query, (parent, name, path)).rowcount == 0:
            raise NoNodeError(path) if version_of(self.connection, path) is None else NotEmptyError(path)
        self.events.append(WatchEvent(DELETED, path))
        self._parents.pop(path, None)
        self._parents[parent] = None

    def _check_parent(self, parent: str) -> int:
        """The parent's next sequence number. Raises when it cannot have children."""
        row = self.connection.execute(f"SELECT owner, sequence FROM nodes {_AT}", split_path(parent)).fetchone()
        if row is None:
            raise NoNodeError(parent)
        if row[0]:
            raise NoChildrenForEphemeralsError(parent)
        sequence: int = row[1]
        return sequence


def checksum_of(parent: str, name: str, data: bytes, version: int, owner: int, created: int) -> int:
    """The checksum over a node's path, data, version, owner and creation; the numbers for watches are not in it."""
    return zlib.crc32(data, zlib.crc32(f"{parent}\0{name}\0{version}\0{owner}\0{created}\0".encode()))


def version_of(connection: sqlite3.Connection, path: str) -> int | None:
    row = connection.execute(f"SELECT version FROM nodes {_AT}", split_path(path)).fetchone()
    return None if row is None else row[0]


def last_change(connection: sqlite3.Connection) -> int:
    number: int = connection.execute("SELECT last FROM changes").fetchone()[0]
    return number


def session_lives(connection: sqlite3.Connection, session_id: int) -> bool:
    return connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone() is not None


def _is_plain_create(operation: Operation) -> bool:
    return isinstance(operation, Create) and not operation.is_ephemeral and not operation.is_sequential
