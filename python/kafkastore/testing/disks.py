"""The disk of a test's broker fails: what the data plane writes next to a log is refused by the kernel.

The descriptors of the log files become ones that may only be read, so reads go on and a write fails with EBADF. A full
disk and a failing one have the same effect on a broker (``docs/internals/fail-points.md``): the log directory goes
offline until the next start, and a broker with no other one ends. The files on the disk are as they were.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from kafkastore.system import own_descriptors

if TYPE_CHECKING:
    from pathlib import Path


def refuse_writes(directory: Path) -> int:
    """Returns how many log files are open."""
    count, folder = 0, f"{os.path.realpath(directory)}/"
    for number, path in own_descriptors():
        if path.startswith(folder) and path.endswith(".log"):
            with suppress(OSError):  # closed meanwhile
                readable = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    os.dup2(readable, number, inheritable=False)
                finally:
                    os.close(readable)
                count += 1
    return count
