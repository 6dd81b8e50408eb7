"""The sockets of this process by their port, those of the data plane included: they are cut as a network would cut
them. A socket is looked at and shut down by a duplicate of its descriptor, so a descriptor that is closed and used
again meanwhile is never touched."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkastore.system import own_descriptors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def cut(ports: Collection[int]) -> int:
    """Shuts the connections down that this process has accepted at these ports. Returns how many."""
    count = 0
    for _, one in _at(ports, is_listening=False):
        with one, suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
            count += 1
    return count


def take_port(port: int) -> list[tuple[int, Any]]:
    """The sockets that listen at the port are closed, and the port is free. Their owner has others under the same
    descriptors, at which nobody ever comes. Returns where they listened: (family, address)."""
    taken: list[tuple[int, Any]] = []
    for number, one in _at([port], is_listening=True):
        with one, socket.socket() as lonely:
            if (where := (one.family, one.getsockname())) not in taken:
                taken.append(where)
            lonely.bind(("127.0.0.1", 0))
            lonely.listen()
            lonely.setblocking(False)
            os.dup2(lonely.fileno(), number, inheritable=False)
    return taken


def _at(ports: Collection[int], *, is_listening: bool) -> Iterator[tuple[int, socket.socket]]:
    for number, path in own_descriptors():
        if not path.startswith("socket:"):
            continue
        with suppress(OSError):
            one = socket.socket(fileno=os.dup(number))
            if _is_at(one, ports, is_listening=is_listening):
                yield number, one
            else:
                one.close()


def _is_at(one: socket.socket, ports: Collection[int], *, is_listening: bool) -> bool:
    if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
        return False
    if bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)) != is_listening:
        return False
    return one.getsockname()[1] in ports
