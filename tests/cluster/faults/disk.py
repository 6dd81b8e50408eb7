"""A disk of a broker's own that can lose its power: an ext4 image behind a loop device.

``lose_power`` shuts the file system down without writing its journal (FS_IOC_SHUTDOWN), so what was not synced is gone, as if
the machine had been unplugged; whoever writes on gets EIO. ``restore`` mounts what is left.
"""

from __future__ import annotations

import fcntl
import os
import struct
from typing import TYPE_CHECKING

from cluster.faults.private_machine import run

if TYPE_CHECKING:
    from pathlib import Path

SIZE_BYTES = 1 << 30
FS_IOC_SHUTDOWN = 0x8004587D  # _IOR('X', 125, __u32)
NO_LOG_FLUSH = 2


class Disk:
    """See the module; mounted at ``path`` for as long as the private machine lives."""

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
        """Nobody may have a file of it open any more."""
        run("umount", str(self.path))
        self._mount()

    def prove(self) -> None:
        """That it does lose what was not synced and keeps what was: an injector that does nothing proves nothing."""
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

    def discard(self) -> None:
        """For good; nobody may have a file of it open any more."""
        run("umount", str(self.path))
        self.image.unlink()

    def _mount(self) -> None:
        run("mount", "-o", "loop", str(self.image), str(self.path))
