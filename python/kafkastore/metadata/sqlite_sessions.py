"""Which sessions of an SQLite store have a live process, whichever container of this host it runs in.

A session's process holds a lock on one byte of a file beside the store, the byte whose offset is the session's id. The
kernel takes the lock away with the process, and shows it to every process that opens the file, where ids of processes
mean another process in each PID namespace. The lock is of the open file (OFD), so that no other file that this process
closes takes it away. The file has no content; a copy of the store without it has no live session.

A session's row has ``<pid>@<boot id>``; of an earlier version ``<pid>:<start time>`` and no lock (``processes.py``).
"""

from __future__ import annotations

import os
from functools import cache
from typing import TYPE_CHECKING, Final

from kafkastore.errors import StartupError
from kafkastore.metadata.processes import is_alive
from kafkastore.system import is_byte_locked, lock_byte, unlock_byte

if TYPE_CHECKING:
    import sqlite3

SESSIONS_SUFFIX: Final = "-sessions"


class SessionLocks:
    """The file of one store, open. Raises OSError."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self, session: int) -> None:
        """Until :meth:`close`, or this process ends."""
        lock_byte(self._file, session)

    def release(self, session: int) -> None:
        unlock_byte(self._file, session)

    def is_held(self, session: int) -> bool:
        """Whether another open file holds the session."""
        return is_byte_locked(self._file, session)

    def close(self) -> None:
        """Releases all; may be called twice."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


@cache
def boot_id() -> str:
    """Of this host since its start; "" where the kernel does not tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def own_process() -> str:
    """Of this process, as a session's row has it."""
    return f"{os.getpid()}@{boot_id()}"


def is_late(connection: sqlite3.Connection, session: int, now: int) -> bool:
    """Whether half of the session's timeout went by without a heartbeat, which is due every third."""
    row = connection.execute("SELECT heartbeat_ms, timeout_ms FROM sessions WHERE id = ?", (session,)).fetchone()
    return row is not None and now - row[0] > row[1] / 2


def session_locks(path: str, setting: str) -> SessionLocks:
    try:
        return SessionLocks(path + SESSIONS_SUFFIX)
    except OSError as error:
        raise StartupError(f"{setting}: cannot open {path}{SESSIONS_SUFFIX}: {error.strerror}") from None


def sessions_over(
    connection: sqlite3.Connection, locks: SessionLocks, mine: int, now: int, *, may_judge: bool
) -> list[int]:
    """The sessions but ``mine`` that are over: their process is gone or, when this process ``may_judge``, hangs. A
    heartbeat in the future is from before the last boot."""

    def is_over(session: int, process: str, beat: int, timeout: int) -> bool:
        _, is_new, boot = process.partition("@")
        if is_new and boot != boot_id():  # of this host before its last start, or of another one, whose clock differs
            return not locks.is_held(session)
        has_passed = beat - now > timeout or (may_judge and now - beat > timeout)
        return has_passed or not (locks.is_held(session) if is_new else is_alive(process))

    rows = connection.execute("SELECT id, process, heartbeat_ms, timeout_ms FROM sessions WHERE id <> ?", (mine,))
    return [row[0] for row in rows.fetchall() if is_over(*row)]


def refuse_other_hosts(connection: sqlite3.Connection, path: str, setting: str) -> None:
    """Raises StartupError when a process of another host has the file open: SQLite's processes share memory."""
    for (process,) in connection.execute("SELECT process FROM sessions").fetchall():
        pid, is_new, boot = process.partition("@")
        if is_new and boot != boot_id():
            raise StartupError(
                f"{setting}: {path} is in use by process {pid} of another host; the brokers of several hosts need "
                "zookeeper.connect"
            )
