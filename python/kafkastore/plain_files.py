"""Opening state files that may be something else: a directory, a named pipe, a link that leads nowhere.

To open a pipe could wait for ever, and a link whose target is not mounted looks like a file that was never there. The
data plane does the same (``rust/io/plain.rs``).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from typing import Final

from kafkastore.system import sync_descriptor

_WAY_OUT: Final = "put the file back, or take away what stands there"
_KINDS: Final = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}


def open_plain(path: str, flags: int, mode: int = 0o666) -> int:
    """The descriptor of a file, as ``os.open`` gives it; may be the ``opener`` of ``open``. Raises OSError, whose
    ``strerror`` says what stands there instead and what to do; FileNotFoundError only when nothing does."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        raise _described(error, path) from None
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise _not_a_file(kind, path)
    return descriptor


def check_plain(path: str) -> None:
    """Raises OSError when something else stands there, without opening it; nothing when nothing does."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError as error:
        described = _described(error, path)
        if not isinstance(described, FileNotFoundError):
            raise described from None
    else:
        if kind != stat.S_IFREG:
            raise _not_a_file(kind, path)


def sync_path(path: str) -> None:
    """What was written to this file, or done in this directory, is on the disk when it returns. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync_descriptor(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: str, text: str, mode: int) -> None:
    """Writes a file: the old one or the new one is there at any time, and the new one, on the disk, when this returns.
    Raises OSError."""
    folder, name = os.path.split(path)
    new = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
            file.write(text)
        sync_path(new)
        os.replace(new, path)
        sync_path(folder)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(new)


def begin_sync(descriptor: int, start: int, end: int) -> None:
    """Has the disk begin with these bytes of a file, which stay in memory until they are written; waits for none of
    them. A sync at the end of a large file finds little left to do."""
    if sys.platform != "darwin" and end > start:  # where no advice begins a sync
        with suppress(OSError):  # a file system that knows no such advice syncs all the same
            os.posix_fadvise(descriptor, start, end - start, os.POSIX_FADV_DONTNEED)


def _not_a_file(kind: int, path: str) -> OSError:
    return OSError(errno.EINVAL, f"it is {_KINDS.get(kind, 'a device')}, not a file; {_WAY_OUT}", path)


def _described(error: OSError, path: str) -> OSError:
    """With what the system's error leaves out."""
    target = ""
    with suppress(OSError):
        target = os.readlink(path)
    if isinstance(error, FileNotFoundError) and target:
        text = f"it is a link to {target}, where nothing is; mount or put back what it leads to, or remove the link"
        return OSError(errno.EINVAL, text, path)
    if error.errno == errno.ELOOP:
        text = f"it is a link to {target} that leads back to itself; put the file back, or remove the link"
        return OSError(errno.EINVAL, text, path)
    if isinstance(error, PermissionError):
        return PermissionError(
            error.errno, f"{error.strerror}; let the user that the broker runs as read and write it", path
        )
    with suppress(OSError):
        kind = stat.S_IFMT(os.stat(path).st_mode)
        if kind != stat.S_IFREG:
            return _not_a_file(kind, path)
    return error
