"""The limits of the system for this process: raises that of descriptors at the start, and names the resource that has
run out."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
from contextlib import suppress
from typing import Final

from kafkastore.errors import StartupError

_SHORTAGES = {
    errno.EMFILE: "no file descriptor is left (ulimit -n, or LimitNOFILE= of systemd)",
    errno.ENFILE: "the machine has no file descriptor left (fs.file-max)",
    errno.ENOMEM: "no memory is left",
    errno.EAGAIN: "no thread can be started (ulimit -u, or TasksMax= of systemd)",
}


ROOM: Final = 8192
"""For how many descriptors the kernel makes room at the start, at 8 bytes of its memory each. When the room is used up
the kernel doubles it and, in a process of several threads, lets the thread wait until every core has passed through the
scheduler: 5 to 10 ms, nine times on the way from 64 to 16,384."""

MIN_DESCRIPTORS: Final = 64
"""With fewer there is no room for a client beside the interpreter, the metadata store and the files of one log."""


def raise_descriptor_limit() -> None:
    """Raises the soft limit of descriptors to the hard limit: the soft limit is low for the sake of programs that use
    select(). Makes room for ROOM descriptors. Must run before any other thread starts. Raises StartupError when the
    limit is too low."""
    _raise_soft_limit()
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    _make_room(ROOM if limit == resource.RLIM_INFINITY else min(ROOM, limit))
    if limit != resource.RLIM_INFINITY and limit < MIN_DESCRIPTORS:
        raise StartupError(
            f"the limit of open files is {limit}, a broker needs at least {MIN_DESCRIPTORS};"
            " raise it (ulimit -n, or LimitNOFILE= of systemd)"
        )


def _raise_soft_limit() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    for wanted in (hard, 1 << 20, 10240):  # some systems name a hard limit that they do not grant
        if hard != resource.RLIM_INFINITY and wanted > hard:
            continue
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            continue
        return


def _make_room(descriptors: int) -> None:
    with suppress(OSError):  # without memory for the room the kernel makes room later
        os.close(fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, descriptors - 1))


def shortage_of(error: BaseException) -> str | None:
    """Names the resource that has run out, for the operator; None for any other error."""
    if isinstance(error, MemoryError):
        return _SHORTAGES[errno.ENOMEM]
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return _SHORTAGES[errno.EAGAIN]
    if isinstance(error, OSError) and error.errno is not None:
        return _SHORTAGES.get(error.errno)
    return None
