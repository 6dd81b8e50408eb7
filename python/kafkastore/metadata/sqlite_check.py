"""Whether the SQLite file of the metadata store is what it was: judged before it is opened for writing, and node by
node at a start.

SQLite ends a damaged ``-wal`` silently at its first bad frame, makes a new database where the file is missing or empty,
and has no checksums in its pages. So a file is refused when

A  it is missing or empty, and its mark (``marks.py``) or a ``-wal`` beside it says that there was one
B  it is another store than the one whose mark is beside it
C  it is at an older change than its mark: ``-wal`` was lost or damaged, or an older copy was put there
D  SQLite finds its structure damaged, or a node is not as it was written

It is opened for reading only: a file that is refused, and what its ``-wal`` still has, stays as it is. Blocking.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from kafkastore.errors import StartupError
from kafkastore.metadata.marks import SIDECAR_SUFFIX, StoreMark, read_mark
from kafkastore.metadata.sqlite_transaction import checksum_of
from kafkastore.metadata.store import join_path
from kafkastore.plain_files import check_plain

if TYPE_CHECKING:
    from collections.abc import Iterator

logger = logging.getLogger("kafkastore.metadata.sqlite_check")

WAYS_OUT: Final = (
    "put it back as it was, or a backup with kafkastore metadata restore, or accept with kafkastore metadata "
    "accept-loss that it is lost"
)

CHECKED_VERSION: Final = 3
"""From this version of the schema on, a store has an identity and its nodes have checksums."""

_MAX_NAMED: Final = 3


_IN_THE_WAY: Final = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
    )
)
"""Error codes that say nothing about the content of a file: a lock, a permission, a disk that is full or does not
answer."""

UNREADABLE: Final = (
    "make room on its disk, and let this user read and write it and the files beside it; if the disk has failed, put a "
    "backup in its place with kafkastore metadata restore"
)


def is_in_the_way(error: sqlite3.Error) -> bool:
    """Whether the file could not be read, so that the error is no sign of damage."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _IN_THE_WAY


def refuse_no_file(path: str, setting: str) -> None:
    """Raises StartupError when the path, or the path of SQLite's ``-wal`` or ``-shm`` beside it, is not a plain
    file."""
    for one in (path, f"{path}-wal", f"{path}-shm"):
        try:
            check_plain(one)
        except NotADirectoryError:
            return  # opening the file says how to go on
        except OSError as error:
            raise StartupError(f"{setting}: {one} cannot be opened: {error.strerror}") from None


def refuse_damaged(path: str, setting: str) -> None:
    """Cases A to C, and D as far as opening shows it. Raises StartupError."""
    refuse_no_file(path, setting)
    sidecar = path + SIDECAR_SUFFIX
    if os.path.exists(sidecar) and not os.access(sidecar, os.R_OK):
        mend = "let the user that the broker runs as read and write it and the files beside it"
        raise StartupError(f"{setting}: {sidecar} cannot be opened: Permission denied; {mend}")
    mark, is_damaged = read_mark(sidecar)
    # before the look at the file: another broker of a new cluster may be making it, and makes them later
    was_there = mark is not None or _size(path + "-wal") > 0
    if is_damaged and (_size(sidecar) or was_there or _size(path)):  # else the first start broke off, on a full disk
        logger.warning("%s is damaged: how far the metadata had come may be known less well", sidecar)
    if _size(path) == 0:
        if was_there:
            what = "is empty" if os.path.exists(path) else "is not there"
            raise StartupError(f"{setting}: {path} {what}, but this broker's metadata was in it; {WAYS_OUT}")
        return
    if mark is None:
        return
    try:
        found = mark_of(path)
    except sqlite3.Error as error:
        if is_in_the_way(error):
            raise StartupError(f"{setting}: {path} cannot be read ({error}); {UNREADABLE}") from None
        raise StartupError(f"{setting}: {path} is damaged ({error}); {WAYS_OUT}") from None
    if found is not None:
        check_mark(found, mark, f"{setting}: {path}", "the mark beside it")


def check_mark(found: StoreMark, seen: StoreMark, what: str, where: str) -> None:
    """Cases B and C. Raises StartupError."""
    if found.store != seen.store:
        raise StartupError(
            f"{what} is another metadata store than the one that was used: it is {found.store}, and {where} names"
            f" {seen.store}; {WAYS_OUT}"
        )
    if found.generation < seen.generation:
        raise StartupError(
            f"{what} has lost something: it is at change {found.generation}, and {where} has seen change"
            f" {seen.generation}; {WAYS_OUT}"
        )


def mark_of(path: str) -> StoreMark | None:
    """The identity and the last change of the store in a file; None for a store of a version without identities, or a
    locked one. Raises sqlite3.Error."""
    with closing(open_to_read(path)) as connection:
        try:
            return _mark_in(connection)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return None  # the process that has it open has judged it
            raise


def open_to_read(path: str) -> sqlite3.Connection:
    """A connection that never writes to the file, not even the content of ``-wal`` when it is closed."""
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, isolation_level=None, timeout=10.0)


def find_damage(path: str) -> list[str]:
    """Case D: a sentence for each thing that is wrong, a few at most; empty when nothing is. Waits for locks. Raises
    sqlite3.Error when the file cannot be looked at."""
    with closing(open_to_read(path)) as connection:
        try:
            return list(_damage_in(connection))
        except sqlite3.DatabaseError as error:
            if is_in_the_way(error):
                raise
            return [str(error)]


def _damage_in(connection: sqlite3.Connection) -> Iterator[str]:
    if connection.execute("PRAGMA user_version").fetchone()[0] < CHECKED_VERSION:
        return
    for (line,) in connection.execute(f"PRAGMA quick_check({_MAX_NAMED})"):
        if line != "ok":
            yield line
    connection.execute("SELECT id, process, heartbeat_ms, timeout_ms FROM sessions").fetchall()
    for table, most in (("store", 1), ("changes", 1)):
        if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] != most:
            yield f"table {table} has not one row"
    for named, (parent, name) in enumerate(_damaged_in(connection)):
        if named == _MAX_NAMED:
            yield "and more"
            return
        yield f"node {join_path(parent, name) if name else '/'} is not as it was written"


def damaged_nodes(path: str) -> list[tuple[str, str]]:
    """The parents and names of damaged nodes. Raises sqlite3.Error for a file that cannot be read."""
    with closing(open_to_read(path)) as connection:
        return [] if _mark_in(connection) is None else list(_damaged_in(connection))


def _damaged_in(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Without ephemeral nodes, which are deleted with their sessions."""
    rows = connection.execute("SELECT parent, name, data, version, owner, created, checksum FROM nodes WHERE owner = 0")
    for row in rows:
        if not is_as_written(*row):
            yield row[0], row[1]


def is_as_written(
    parent: object, name: object, data: object, version: object, owner: object, created: object, checksum: object
) -> bool:
    """Whether a node has its checksum. A flipped bit may change a value's type, too."""
    if not (isinstance(parent, str) and isinstance(name, str) and isinstance(data, bytes)):
        return False
    if not (isinstance(version, int) and isinstance(owner, int) and isinstance(created, int)):
        return False
    return checksum_of(parent, name, data, version, owner, created) == checksum


def _mark_in(connection: sqlite3.Connection) -> StoreMark | None:
    if connection.execute("PRAGMA user_version").fetchone()[0] < CHECKED_VERSION:
        return None
    row = connection.execute("SELECT id, last FROM store, changes").fetchone()
    if row is None or not isinstance(row[0], str) or not isinstance(row[1], int):
        raise sqlite3.DatabaseError("it has no identity")
    return StoreMark(*row)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
