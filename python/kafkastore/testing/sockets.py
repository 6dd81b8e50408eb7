"""The sockets of this process by their port, those of the data plane included: they are cut as a network would cut
them. Linux shows a process its own descriptors; a socket is looked at and shut down by a duplicate, so a descriptor
that is closed and used again meanwhile is never touched."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def cut(ports: Collection[int]) -> int:
    """Shuts the connections down that this process has accepted at these ports. Returns how many."""
    count = 0
    for one in _at(ports, is_listening=False):
        with one, suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
            count += 1
    return count


def take_port(port: int) -> list[tuple[int, Any]]:
    """The sockets that listen at the port are closed, and the port is free. Their owner has others under the same
    descriptors, at which nobody ever comes. Returns where they listened: (family, address)."""
    taken: list[tuple[int, Any]] = []
    for one in _at([port], is_listening=True):
        with one:
            taken.append((one.family, one.getsockname()))
            own = f"socket:[{os.fstat(one.fileno()).st_ino}]"
        for number, path in descriptors():
            if path == own:
                with socket.socket(socket.AF_UNIX) as lonely:
                    lonely.bind("")  # an abstract name that the system chooses
                    lonely.listen()
                    lonely.setblocking(False)
                    os.dup2(lonely.fileno(), number, inheritable=False)
    return taken


def descriptors() -> Iterator[tuple[int, str]]:
    """(number, what it is) of this process's open descriptors, those that are closed meanwhile left out."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            yield int(name), os.readlink(f"/proc/self/fd/{name}")


def _at(ports: Collection[int], *, is_listening: bool) -> Iterator[socket.socket]:
    for number, path in descriptors():
        if not path.startswith("socket:"):
            continue
        with suppress(OSError):
            one = socket.socket(fileno=os.dup(number))
            if _is_at(one, ports, is_listening=is_listening):
                yield one
            else:
                one.close()


def _is_at(one: socket.socket, ports: Collection[int], *, is_listening: bool) -> bool:
    if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
        return False
    if bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)) != is_listening:
        return False
    return one.getsockname()[1] in ports
