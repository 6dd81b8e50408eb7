"""What the system lets this process have: descriptors at the start, and a sentence when there is no more of
something."""

from __future__ import annotations

import errno
import resource

from kafkastore.errors import StartupError

_SHORTAGES = {
    errno.EMFILE: "no file descriptor is left (ulimit -n, or LimitNOFILE= of systemd)",
    errno.ENFILE: "the machine has no file descriptor left (fs.file-max)",
    errno.ENOMEM: "no memory is left",
    errno.EAGAIN: "no thread can be started (ulimit -u, or TasksMax= of systemd)",
}


MIN_DESCRIPTORS = 64
"""With fewer there is no room for a client beside the interpreter, the metadata store and the files of one log."""


def raise_descriptor_limit() -> None:
    """Raises the soft limit of descriptors to the hard one: the soft one is low for the sake of programs that use
    select(). Raises StartupError when even that is too low."""
    _raise_soft_limit()
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
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


def shortage_of(error: BaseException) -> str | None:
    """What the process has no more of, for people; None when the error is another one."""
    if isinstance(error, MemoryError):
        return _SHORTAGES[errno.ENOMEM]
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        return _SHORTAGES[errno.EAGAIN]
    if isinstance(error, OSError) and error.errno is not None:
        return _SHORTAGES.get(error.errno)
    return None
