"""Which processes of this PID namespace are alive, by an identity that no later process shares. Reads /proc; never
signals. Of sessions that an earlier version has begun; see ``sqlite_sessions.py``."""

from __future__ import annotations

import os

_ENDED = (b"Z", b"X", b"x")
"""States of a process that has ended and that its parent has not waited for yet."""


def process_identity(pid: int) -> str | None:
    """``pid:start time`` of a process of this host; None when there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return f"{pid}:" if _exists(pid) else None
    return None if fields[0] in _ENDED else f"{pid}:{fields[19].decode()}"


def is_alive(identity: str) -> bool:
    return process_identity(int(identity.partition(":")[0])) == identity


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
