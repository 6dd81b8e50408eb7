"""A broker's own disk that can lose its power, run full, and fail to sync: an ext4 image behind a loop device.

``lose_power`` shuts the file system down without writing its journal (FS_IOC_SHUTDOWN): data that was not synced is
gone, as if the machine had been unplugged, and a process that goes on writing gets EIO. ``restore`` mounts the file
system again. ``fail_syncs`` makes the device smaller than the file system on it: writes go to the page cache as before,
their write-back fails with EIO, and fsync returns that error.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from cluster.faults.private_machine import run

if TYPE_CHECKING:
    from pathlib import Path

SIZE_BYTES = 1 << 30
FS_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2
LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C04, 0x4C05
LOOP_INFO_BYTES = 232
LOOP_SIZE_LIMIT_AT = 32
"""Where ``lo_sizelimit`` is in ``struct loop_info64``."""
LEFT_BYTES = 4 << 20
LAST_BLOCKS = 64
"""The last blocks are written one by one, because their number is not known exactly."""
FILLER = "filler"


class Disk:
    """See the module; mounted at ``path`` as long as the private machine lives."""

    def __init__(self, image: Path, path: Path) -> None:
        self.image = image
        self.path = path
        path.mkdir(parents=True)
        with image.open("wb") as file:
            file.truncate(SIZE_BYTES)
        run("mkfs.ext4", "-q", "-F", str(image))
        self._mount()

    def lose_power(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, FS_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
        finally:
            os.close(folder)

    def restore(self) -> None:
        """Mounts the disk again. No process may have a file of it open any more."""
        run("umount", str(self.path))
        self._mount()

    def fill(self) -> None:
        """Fills the disk to its last block."""
        free = os.statvfs(self.path)
        with (self.path / FILLER).open("wb", buffering=0) as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail - LAST_BLOCKS) * free.f_frsize)
            file.seek(0, os.SEEK_END)
            while True:
                file.write(bytes(free.f_frsize))

    def make_room(self) -> None:
        (self.path / FILLER).unlink(missing_ok=True)

    def fail_syncs(self) -> None:
        self._limit(LEFT_BYTES)

    def sync_again(self) -> None:
        """Ends :meth:`fail_syncs`; the disk has what reached the device. No process may have a file of it open any
        more."""
        self._limit(0)
        self.restore()

    def _limit(self, size_bytes: int) -> None:
        found = run("losetup", "--noheadings", "--output", "NAME", "--associated", str(self.image))
        device = os.open(found.strip(), os.O_RDWR)
        try:
            info = bytearray(LOOP_INFO_BYTES)
            fcntl.ioctl(device, LOOP_GET_STATUS64, info)
            struct.pack_into("Q", info, LOOP_SIZE_LIMIT_AT, size_bytes)
            fcntl.ioctl(device, LOOP_SET_STATUS64, bytes(info))
        finally:
            os.close(device)

    def prove(self) -> None:
        """Checks that the disk loses unsynced data and keeps synced data: a fault without effect proves nothing."""
        for name in ("synced", "not-synced"):
            with (self.path / name).open("wb") as file:
                file.write(bytes(5000))
                if name == "synced":
                    file.flush()
                    os.fsync(file.fileno())
        self.lose_power()
        self.restore()
        left = sorted(path.name for path in self.path.iterdir() if path.is_file())
        assert left == ["synced"], f"after a loss of power there is {left}"
        (self.path / "synced").unlink()
        self._prove_sync()

    def _prove_sync(self) -> None:
        """Checks that a sync fails while the write before it succeeds."""
        self.fail_syncs()
        code = 0
        with (self.path / "not-synced").open("wb", buffering=0) as file:
            file.write(bytes(5000))
            try:
                os.fsync(file.fileno())
            except OSError as error:
                code = error.errno or 0
        assert code == errno.EIO, f"a sync that was to fail ended with {code}"
        self.sync_again()
        (self.path / "not-synced").unlink(missing_ok=True)

    def discard(self) -> None:
        """Removes the disk for good. No process may have a file of it open any more."""
        run("umount", str(self.path))
        self.image.unlink()

    def _mount(self) -> None:
        run("mount", "-o", "loop", str(self.image), str(self.path))
