"""A folder on a disk that keeps what was synced and nothing else, for syncs that Python asks for.

The folder is a real one; ``os.fsync`` and ``os.fdatasync`` note what the disk has from then on:

- a file: the content that it had when it was synced; a file that was never synced is empty;
- a directory: the names that it had when it was synced, whatever was created, renamed or removed since.

What is there when the disk is made counts as synced. A disk may also write a new name at once: a file that gets another
name before its content is synced is noted in :attr:`Disk.renamed_unsynced`, since a power loss could leave that name
with nothing. Syncs by SQLite's own code are not seen; those are tested with a disk that loses power
(``cluster/faults/disk.py``).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Container
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

Line = tuple[str, int]
"""A source file's path, and the number of a line in it."""


class Disk:
    """See the module. ``left_out``: lines of source; a sync that they ask for, through other functions too, is not
    done."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, left_out: Container[Line] = ()) -> None:
        self.folder = folder
        self.renamed_unsynced: list[str] = []
        self._left_out = left_out
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, tuple[int, bool]]] = {}
        self._held: list[int] = []
        """Descriptors that keep an inode's number from being given to another file."""
        for path in (folder, *folder.rglob("*")):
            self._note_path(str(path))
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._syncing(getattr(os, name)))
        for name in ("rename", "replace"):
            monkeypatch.setattr(os, name, self._renaming(getattr(os, name)))

    def close(self) -> None:
        for descriptor in self._held:
            os.close(descriptor)
        self._held.clear()

    def lose_power(self, to: Path) -> None:
        """Makes the folder ``to``, with what the disk has."""
        self._rebuild(self.folder.stat().st_ino, to)

    def _rebuild(self, inode: int, to: Path) -> None:
        to.mkdir()
        for name, (member, is_directory) in self._names.get(inode, {}).items():
            if is_directory:
                self._rebuild(member, to / name)
            else:
                (to / name).write_bytes(self._contents.get(member, b""))

    def _note_path(self, path: str) -> None:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            self._note(descriptor)
        finally:
            os.close(descriptor)

    def _note(self, descriptor: int) -> None:
        about = os.fstat(descriptor)
        self._held.append(os.dup(descriptor))
        if stat.S_ISDIR(about.st_mode):
            with os.scandir(descriptor) as members:
                self._names[about.st_ino] = {one.name: (one.inode(), one.is_dir()) for one in members}
        else:
            self._contents[about.st_ino] = _content(f"/proc/self/fd/{descriptor}")

    def _syncing(self, sync: Callable[[int], None]) -> Callable[[int], None]:
        def noting(descriptor: int) -> None:
            if not self._is_left_out(sys._getframe(1)):
                sync(descriptor)
                self._note(descriptor)

        return noting

    def _is_left_out(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if (frame.f_code.co_filename, frame.f_lineno) in self._left_out:
                return True
            frame = frame.f_back
        return False

    def _renaming(self, rename: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def noting(source: Any, target: Any) -> None:
            about = os.stat(source)
            if stat.S_ISREG(about.st_mode) and self._contents.get(about.st_ino) != _content(os.fspath(source)):
                self.renamed_unsynced.append(os.path.basename(target))
            rename(source, target)

        return noting


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
