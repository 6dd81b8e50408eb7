"""Backups of the SQLite metadata store: made while brokers run, restored while no broker runs; and accepting a loss.

A backup is one file: the store as of one commit, without sessions and what they own. A store that is put back keeps its
identity and gets a generation above all that is known (``marks.py``), so that every log directory takes it; it
remembers which changes it has lost, so that configurations kept beside the logs since then are taken over
(``membership/reconcile.py``, case H).

What is replaced is kept beside the new file, as ``.replaced-<time>``. Nothing is durable before a call returns.
Blocking.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import TYPE_CHECKING, Final

from kafkastore.errors import KafkastoreError
from kafkastore.metadata.marks import DIRECTORY_FILE, SIDECAR_SUFFIX, MarkFile, StoreMark, read_mark
from kafkastore.metadata.sqlite_check import (
    UNREADABLE,
    damaged_nodes,
    find_damage,
    is_in_the_way,
    mark_of,
    open_to_read,
)
from kafkastore.metadata.store import join_path
from kafkastore.plain_files import open_plain, sync_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LEAP: Final = 1 << 32
"""How far the generation of a restored store is above all known marks: a log directory elsewhere may have a later
one."""

_SUFFIXES: Final = ("", "-wal", "-shm")
_LOCK_FILE: Final = ".lock"  # of a log directory, Apache Kafka's too


class BackupError(KafkastoreError):
    """One sentence for the user of the command."""


def back_up(path: str, to: str) -> StoreMark:
    """Writes a backup of the store at ``path`` to a new file. Returns the mark of the backup. Raises BackupError."""
    if os.path.exists(to):
        raise BackupError(f"{to} exists already; give the name of a new file")
    if not os.path.exists(path):
        raise BackupError(f"{path} is not there; there is nothing to back up")
    partial = f"{to}.partial"
    try:
        with closing(open_to_read(path)) as source, _new_database(partial) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")
            target.execute("DELETE FROM nodes WHERE owner <> 0")
            target.execute("DELETE FROM sessions")
        mark = _checked(partial)
        sync_path(partial)
        os.rename(partial, to)
        sync_path(os.path.dirname(os.path.abspath(to)))
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{path} cannot be backed up to {to}: {_reason(error)}") from None
    finally:
        with suppress(OSError):
            os.unlink(partial)
    return mark


def restore(backup: str, path: str, log_dirs: Sequence[str]) -> StoreMark:
    """Puts a backup in the place of the store at ``path``. Returns the mark of the backup. Raises BackupError."""
    try:
        mark = _checked(backup)
    except (sqlite3.Error, OSError) as error:
        raise BackupError(f"{backup} is no backup of a metadata store: {_reason(error)}") from None
    with _nobody_else(path, log_dirs) as sidecar:
        known = [one for one in _known_marks(path, log_dirs) if one is not None]
        for one in known:
            if one.store != mark.store:
                raise BackupError(
                    f"{backup} is a backup of metadata store {mark.store}, and {path} or its log directories were used "
                    f"with {one.store}; give a backup of that, or accept its loss with kafkastore metadata accept-loss "
                    "first"
                )
        last = max([mark.generation, *(one.generation for one in known)]) + LEAP
        new = f"{path}.restoring"
        try:
            shutil.copyfile(backup, new)
            os.chmod(new, 0o600)
            _leap(new, mark.generation, last)
            sync_path(new)
            _set_aside(path)
            os.rename(new, path)
            sidecar.write(StoreMark(mark.store, last))
            sidecar.sync()  # and the directory, in which the store has its name now
        except (sqlite3.Error, OSError) as error:
            raise BackupError(f"{backup} cannot be put in the place of {path}: {_reason(error)}") from None
    return mark


def accept_loss(path: str | None, log_dirs: Sequence[str]) -> list[str]:
    """Takes the marks away, so that the next start goes on with the store as it is, or with a new one; ``path`` is None
    for a store that is no file. A store that is older than a mark gets a generation above it, as a restored store does.
    Damaged nodes are deleted, with the nodes below them; a file of which nothing can be read is set aside. Returns
    a sentence for each thing done. Raises BackupError."""
    done = []
    with ExitStack() as stack:
        if path is not None:
            stack.enter_context(_nobody_else(path, log_dirs))
            try:
                known = [one for one in _seen_marks(path, log_dirs) if one is not None]
                done += _drop_damage(path)
                _note_loss(path, known)
            except (sqlite3.Error, OSError) as error:
                raise BackupError(
                    f"{path} cannot be read ({_reason(error)}), so nothing is known to be lost; {UNREADABLE}"
                ) from None
            _unlink(path + SIDECAR_SUFFIX)
        else:
            stack.enter_context(locked(log_dirs))
        for directory in log_dirs:
            if _unlink(os.path.join(directory, DIRECTORY_FILE)):
                done.append(f"{directory} no longer says which metadata it was used with")
    return done


# ---- inside
def _checked(path: str) -> StoreMark:
    """The mark of a whole store. Raises sqlite3.Error."""
    if not os.path.isfile(path):
        raise sqlite3.DatabaseError("there is no such file")
    mark = mark_of(path)
    damage = find_damage(path)
    if mark is None or damage:
        raise sqlite3.DatabaseError("; ".join(damage) or "it has no identity")
    return mark


def _seen_marks(path: str, log_dirs: Sequence[str]) -> Iterator[StoreMark | None]:
    yield read_mark(path + SIDECAR_SUFFIX).mark
    for directory in log_dirs:
        yield read_mark(os.path.join(directory, DIRECTORY_FILE)).mark


def _known_marks(path: str, log_dirs: Sequence[str]) -> Iterator[StoreMark | None]:
    yield from _seen_marks(path, log_dirs)
    with suppress(sqlite3.Error):
        if os.path.exists(path) and os.path.getsize(path):
            yield mark_of(path)


def _leap(path: str, generation: int, last: int) -> None:
    """Notes that the changes after ``generation`` are lost; the store's next change follows ``last``."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE store SET lost_from = ?, lost_to = ?", (generation, last))
        connection.execute("UPDATE changes SET last = ?", (last,))
        connection.execute("COMMIT")


def _note_loss(path: str, known: Sequence[StoreMark]) -> None:
    """Moves a store that is older than a mark above it: its next changes must not get the numbers of lost changes."""
    mark = mark_of(path) if os.path.exists(path) and os.path.getsize(path) else None
    if mark is None:
        return
    seen = max((one.generation for one in known if one.store == mark.store), default=0)
    if seen > mark.generation:
        _leap(path, mark.generation, seen + LEAP)


def _drop_damage(path: str) -> list[str]:
    if not os.path.exists(path) and not os.path.exists(path + "-wal"):
        return []
    copies = _set_aside(path, is_copy=True)
    for copy in copies:
        sync_path(copy)
    sync_path(os.path.dirname(os.path.abspath(path)))  # before anything is deleted, which only the copies have then
    done = [f"{path} as it was is {copy} now" for copy in copies[:1]]
    try:
        damaged = damaged_nodes(path)
    except sqlite3.Error as error:
        if is_in_the_way(error):
            raise
        for suffix in _SUFFIXES:
            _unlink(path + suffix)
        return [*done, f"{path} could not be read and is made anew"]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for parent, name in damaged:
            below = join_path(parent, name)
            connection.execute("DELETE FROM nodes WHERE parent = ? AND name = ?", (parent, name))
            connection.execute(
                "DELETE FROM nodes WHERE parent = ? OR substr(parent, 1, ?) = ?", (below, len(below) + 1, below + "/")
            )
            done.append(f"node {below} was damaged and is gone, with what was below it")
        if find_damage(path):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()
            for suffix in _SUFFIXES:
                _unlink(path + suffix)
            done.append(f"{path} could not be read and is made anew")
    return done


def _set_aside(path: str, *, is_copy: bool = False) -> list[str]:
    """Renames or copies the file, with its ``-wal`` and ``-shm``. Returns the new names."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + f".{time.time_ns() % 1_000_000:06d}"
    moved = []
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            move = shutil.copyfile if is_copy else os.rename
            move(path + suffix, f"{path}.replaced-{stamp}{suffix}")
            moved.append(f"{path}.replaced-{stamp}{suffix}")
    return moved


@contextmanager
def _new_database(path: str) -> Iterator[sqlite3.Connection]:
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


@contextmanager
def _nobody_else(path: str, log_dirs: Sequence[str]) -> Iterator[MarkFile]:
    """Keeps brokers out. Raises BackupError while one runs."""
    with locked(log_dirs), closing(MarkFile(path + SIDECAR_SUFFIX)) as sidecar:
        try:
            is_free = sidecar.hold(is_exclusive=True)
        except OSError as error:
            raise BackupError(f"{sidecar.path} cannot be opened: {_reason(error)}") from None
        if not is_free:
            raise BackupError(f"{path} is in use by a running broker; stop all brokers that use it first")
        yield sidecar


@contextmanager
def locked(log_dirs: Sequence[str]) -> Iterator[None]:
    """Locks the log directories as a broker does. Raises BackupError while a broker runs."""
    with ExitStack() as stack:
        for directory in log_dirs:
            try:
                path = os.path.join(directory, _LOCK_FILE)
                file = stack.enter_context(open(path, "ab", opener=open_plain))
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except FileNotFoundError:  # not there, or never used
                continue
            except BlockingIOError:
                raise BackupError(f"log.dirs={directory} is in use by a running broker; stop it first") from None
            except OSError as error:
                raise BackupError(f"{directory} cannot be locked: {_reason(error)}") from None
        yield


def _unlink(path: str) -> bool:
    """Removes a file for good; False when there is none. Raises BackupError."""
    try:
        os.unlink(path)
        sync_path(os.path.dirname(os.path.abspath(path)))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise BackupError(f"{path} cannot be deleted: {_reason(error)}") from None
    return True


def _reason(error: sqlite3.Error | OSError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
