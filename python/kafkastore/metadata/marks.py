"""A mark: which metadata store was seen, and how far it had come. Kept outside the store, so that a store that lost
something is noticed.

A store has an identity, made with it, and a generation that only rises. A generation below one that was seen before, or
another identity, shows that the store was damaged, replaced, or put back from an older copy. A mark is kept beside the
SQLite file, written after each commit, and in every log directory, written every few seconds and at a stop
(``membership/metadata_marks.py``). Apache Kafka leaves both files alone.

    file = slot slot            each SLOT_BYTES bytes
    slot = "kafkastore-mark 1 " store " " generation " " checksum padding "\\n"

A mark is written over the older slot, so that a write that was cut short leaves the other. It survives the end of the
process when :meth:`MarkFile.write` returns, and a power loss after :meth:`MarkFile.sync`, a new file too. Nothing here
decides what follows from a mark.
"""

from __future__ import annotations

import fcntl
import os
import threading
import zlib
from contextlib import suppress
from typing import Final, NamedTuple

from kafkastore.plain_files import open_plain, sync_path
from kafkastore.system import hold_file, sync_data

DIRECTORY_FILE: Final = "kafkastore-metadata.mark"
"""In a log directory."""

SIDECAR_SUFFIX: Final = "-mark"
"""Of the file beside the SQLite file."""

SLOT_BYTES: Final = 128
_HEAD: Final = "kafkastore-mark 1"
_FILE_MODE: Final = 0o600
_BLANK: Final = b"\0\n "

_writing = threading.Lock()
"""Record locks belong to the process: they do not keep two of its threads apart."""


class StoreMark(NamedTuple):
    """``store`` is the identity."""

    store: str
    generation: int


class RecordedMark(NamedTuple):
    """The content of a mark file; ``mark`` is None when neither slot can be read."""

    mark: StoreMark | None
    is_damaged: bool
    """Whether the file is there and a slot of it is not as it was written."""


NOTHING: Final = RecordedMark(None, is_damaged=False)


def read_mark(path: str) -> RecordedMark:
    """NOTHING when there is no file. Blocking."""
    try:
        with open(path, "rb", opener=open_plain) as file:
            content = file.read(2 * SLOT_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING
    except OSError:
        return RecordedMark(None, is_damaged=True)
    slots = [content[at : at + SLOT_BYTES] for at in (0, SLOT_BYTES)]
    marks = [_decode(slot) for slot in slots]
    found = [mark for mark in marks if mark is not None]
    is_short = len(content) != 2 * SLOT_BYTES
    is_invalid = any(mark is None and slot.strip(_BLANK) for mark, slot in zip(marks, slots, strict=True))
    is_damaged = not found or is_short or is_invalid
    return RecordedMark(max(found, key=lambda mark: mark.generation, default=None), is_damaged)


class MarkFile:
    """One mark file, open for writing; several processes may have it open. Blocking."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._inode: tuple[int, int] | None = None
        self._has_durable_name = False

    def write(self, mark: StoreMark) -> None:
        """Writes a mark; a generation that is not above that of the same store in the file changes nothing. Raises
        OSError."""
        with _writing:
            descriptor = self._open()
            fcntl.lockf(descriptor, fcntl.LOCK_EX, 2 * SLOT_BYTES)
            try:
                _put(descriptor, mark)
            finally:
                fcntl.lockf(descriptor, fcntl.LOCK_UN, 2 * SLOT_BYTES)

    def sync(self) -> None:
        """Syncs the file; the first sync of a file syncs its directory, too. Raises OSError."""
        sync_data(self._open())
        if not self._has_durable_name:
            sync_path(os.path.dirname(os.path.abspath(self.path)))
            self._has_durable_name = True

    def hold(self, *, is_exclusive: bool = False) -> bool:
        """Locks the file, until it is closed, to show that its store is in use. Processes share the lock unless one of
        them ``is_exclusive``; False when another process's lock excludes this one. Raises OSError."""
        with suppress(BlockingIOError):
            hold_file(self._open(), is_exclusive=is_exclusive)
            return True
        return False

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _open(self) -> int:
        """The descriptor of the file that is at the path now."""
        if self._descriptor is not None and _inode(self.path) == self._inode:
            return self._descriptor
        old = self._descriptor
        self._descriptor = open_plain(self.path, os.O_RDWR | os.O_CREAT, _FILE_MODE)
        self._has_durable_name = False
        found = os.fstat(self._descriptor)
        self._inode = found.st_dev, found.st_ino
        if old is not None:  # a file that was removed is created again, and locked as the removed one was
            os.close(old)
            self.hold()
        return self._descriptor


def _put(descriptor: int, mark: StoreMark) -> None:
    content = os.pread(descriptor, 2 * SLOT_BYTES, 0)
    marks = [_decode(content[at : at + SLOT_BYTES]) for at in (0, SLOT_BYTES)]
    if all(one is None or one.store != mark.store for one in marks):
        os.pwrite(descriptor, _encode(mark) + bytes(SLOT_BYTES), 0)
        return
    ages = [one.generation if one is not None and one.store == mark.store else -1 for one in marks]
    if max(ages) < mark.generation:
        os.pwrite(descriptor, _encode(mark), SLOT_BYTES if ages[0] > ages[1] else 0)


def _encode(mark: StoreMark) -> bytes:
    text = f"{_HEAD} {mark.store} {mark.generation}"
    return f"{text} {zlib.crc32(text.encode()):08x}".encode().ljust(SLOT_BYTES - 1) + b"\n"


def _decode(slot: bytes) -> StoreMark | None:
    text, _, checksum = slot.rstrip().rpartition(b" ")
    fields = text.split(b" ")
    with suppress(ValueError):
        if len(slot) == SLOT_BYTES and int(checksum, 16) == zlib.crc32(text) and len(fields) == 4:
            return StoreMark(fields[2].decode(), int(fields[3]))
    return None


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
