"""What Linux and macOS call differently, each under one name; the data plane has the same for its own calls
(``linux.rs`` and ``macos.rs`` of ``rust/base``, ``rust/io`` and ``rust/net``).

Never: decides what follows from it. ``sys.platform`` is asked here, and where a single call differs.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import ExitStack

if sys.platform == "darwin":
    # of sys/fcntl.h; Python names them on Linux
    _OFD_SETLK: Final = 90
    _OFD_GETLK: Final = 92
    _FLOCK: Final = "qqihh"  # start, length, pid, type, whence
else:
    _OFD_SETLK: Final = fcntl.F_OFD_SETLK
    _OFD_GETLK: Final = fcntl.F_OFD_GETLK
    _FLOCK: Final = "hhqqi0q"  # type, whence, start, length, pid

_HELD_AT: Final = 1 << 40
"""Behind the end of any file that :func:`hold_file` gets."""


def processors() -> int:
    """How many this process may use."""
    if sys.platform == "darwin":
        return os.cpu_count() or 1
    return len(os.sched_getaffinity(0))


# ---- durability
def sync_descriptor(descriptor: int) -> None:
    """A file or a directory is on the disk when it returns. Raises OSError."""
    if sys.platform == "darwin":  # its fsync leaves the bytes in the cache of the drive
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


def sync_data(descriptor: int) -> None:
    """A file's content and length are on the disk when it returns. Raises OSError."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


# ---- locks
def lock_byte(descriptor: int, at: int) -> None:
    """For the open file (OFD): until its last descriptor is closed, whatever else of the file is closed meanwhile.
    Raises BlockingIOError."""
    fcntl.fcntl(descriptor, _OFD_SETLK, _byte(fcntl.F_WRLCK, at))


def unlock_byte(descriptor: int, at: int) -> None:
    fcntl.fcntl(descriptor, _OFD_SETLK, _byte(fcntl.F_UNLCK, at))


def is_byte_locked(descriptor: int, at: int) -> bool:
    """Whether another open file, or another process, has locked it."""
    found = fcntl.fcntl(descriptor, _OFD_GETLK, _byte(fcntl.F_WRLCK, at))
    kind: int = struct.unpack(_FLOCK, found)[3 if sys.platform == "darwin" else 0]
    return kind != fcntl.F_UNLCK


def _byte(kind: int, at: int) -> bytes:
    if sys.platform == "darwin":
        return struct.pack(_FLOCK, at, 1, 0, kind, os.SEEK_SET)
    return struct.pack(_FLOCK, kind, os.SEEK_SET, at, 1, 0)


def hold_file(descriptor: int, *, is_exclusive: bool) -> None:
    """Locks an open file until it is closed. Raises BlockingIOError. It does not stand in the way of record locks on
    the file's content: on macOS ``flock`` would, on those of this process too."""
    if sys.platform == "darwin":
        fcntl.fcntl(descriptor, _OFD_SETLK, _byte(fcntl.F_WRLCK if is_exclusive else fcntl.F_RDLCK, _HELD_AT))
    else:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if is_exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)


# ---- descriptors
def own_descriptors() -> Iterator[tuple[int, str]]:
    """(number, path) of this process's open descriptors, those that are closed meanwhile left out; the path of a socket
    begins with ``socket:``."""
    folder = "/dev/fd" if sys.platform == "darwin" else "/proc/self/fd"
    for name in os.listdir(folder):
        with suppress(OSError):
            if sys.platform != "darwin":
                yield int(name), os.readlink(f"{folder}/{name}")
            elif stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                yield int(name), "socket:"
            else:
                yield int(name), os.fsdecode(fcntl.fcntl(int(name), fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))


def watch_process(pid: int, closing: ExitStack) -> int:
    """A descriptor that becomes readable when the process ends; ``closing`` closes it. Raises OSError when the process
    is gone."""
    if sys.platform == "darwin":
        import select

        queue = select.kqueue()
        closing.callback(queue.close)
        queue.control([select.kevent(pid, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)], 0)
        return queue.fileno()
    descriptor = os.pidfd_open(pid)
    closing.callback(os.close, descriptor)
    return descriptor


class MemoryFile:
    """A file of this process alone, which its code may open by ``path``; in memory where the system has such files.
    Its creator closes it."""

    def __init__(self, name: str) -> None:
        if sys.platform == "darwin":
            import tempfile

            self.descriptor, self.path = tempfile.mkstemp(prefix=f"kafkastore-{name}-")
        else:
            self.descriptor = os.memfd_create(name)
            self.path = f"/proc/self/fd/{self.descriptor}"

    def close(self) -> None:
        os.close(self.descriptor)
        if sys.platform == "darwin":
            os.unlink(self.path)
