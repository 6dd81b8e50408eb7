"""The directory of a test's brokers: a temporary one, in memory where there is room, or one that the test names.

A temporary directory is locked while it is in use. The first one that a process makes looks for those of processes that
died before they could remove theirs, and removes them: in ``/dev/shm`` they would take memory until the next boot.
Never: removes a directory that the test named.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from kafkastore.errors import StartupError

MEMORY: Final = "/dev/shm"  # noqa: S108 - a directory of one's own is made in it
ENOUGH_BYTES: Final = 256 << 20
"""Less room than this is left to others, and the disk is used."""

PREFIX: Final = "kafkastore-testing-"
LOCK: Final = "in-use"


class Home:
    """One directory, ``path``; without a path given a temporary one, which :meth:`close` removes. Raises StartupError
    for a directory that cannot be made."""

    def __init__(self, given: str | os.PathLike[str] | None) -> None:
        if given is not None:
            self.path = Path(given).absolute()
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StartupError(f"directory={self.path} cannot be made: {error.strerror}") from error
            self._remove: weakref.finalize[[Path, int, int], Home] | None = None
            return
        _remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=_parent()))
        lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._remove = weakref.finalize(self, _remove, self.path, lock, os.getpid())  # also at the end of the process

    @property
    def is_temporary(self) -> bool:
        return self._remove is not None

    def close(self) -> None:
        """May be called twice."""
        if self._remove is not None:
            self._remove()


def _remove(path: Path, lock: int, process: int) -> None:
    if os.getpid() == process:  # a fork of the process that made it leaves it alone
        shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


def _parent() -> str:
    with suppress(OSError):
        room = os.statvfs(MEMORY)
        if room.f_bavail * room.f_frsize >= ENOUGH_BYTES and os.access(MEMORY, os.W_OK | os.X_OK):
            return MEMORY
    return tempfile.gettempdir()


@cache
def _remove_abandoned() -> None:
    for path in Path(_parent()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # of another user, or gone
            lock = os.open(path / LOCK, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)
