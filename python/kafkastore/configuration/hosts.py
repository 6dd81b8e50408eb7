"""The addresses of hosts that settings name: quotas by address, ``max.connections.per.ip.overrides``.

Name servers may be silent, so nothing waits for them but who asks whether a host exists. What they do not answer keeps
the addresses that it had.
"""

from __future__ import annotations

import asyncio
import logging
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kafkastore.purgatory.may_hang import AT_ONCE, MayHang

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

logger = logging.getLogger("kafkastore.configuration.hosts")

LIMIT_S: Final = 5.0
"""How long a host is waited for, as long as a resolver waits for its first name server."""


class Hosts:
    """See the module. One for each purpose. Runs on one loop."""

    def __init__(self) -> None:
        self._name_servers = MayHang()
        self._known: dict[str, list[str]] = {}
        self._lookups: set[asyncio.Task[None]] = set()

    def addresses(self, host: str) -> list[str]:
        """Of a host's name those that are known; an address has itself."""
        address = address_of(host)
        return [address] if address else [*self._known.get(host, ())]

    async def without_address(self, hosts: Sequence[str]) -> set[str]:
        """Looks hosts up, some at a time; once no name of several is answered, no others are asked for."""
        names = [host for host in hosts if address_of(host) is None]
        is_silent = False
        for at in range(0, len(names), AT_ONCE):
            if not is_silent:
                is_silent = not any(await asyncio.gather(*map(self._is_answered, names[at : at + AT_ONCE])))
        return {name for name in names if name not in self._known}

    def look_up(self, host: str, then: Callable[[], None]) -> None:
        """Looks a host's name up in the background; calls ``then`` when it has other addresses than before."""
        if address_of(host) is not None:
            return

        async def note() -> None:
            if self._note(host, await self._name_servers.call(_resolved, host)):
                then()
            if host not in self._known:
                logger.warning("%s has no address; what is set for this host is not in force", ascii(host))

        looking = asyncio.get_running_loop().create_task(note())
        self._lookups.add(looking)
        looking.add_done_callback(self._lookups.discard)

    def keep(self, hosts: Container[str]) -> None:
        """Forgets all others."""
        self._known = {host: found for host, found in self._known.items() if host in hosts}

    async def _is_answered(self, host: str) -> bool:
        try:
            found = await asyncio.wait_for(self._name_servers.call(_resolved, host), LIMIT_S)
        except TimeoutError:
            return False
        self._note(host, found)
        return True

    def _note(self, host: str, found: list[str]) -> bool:
        """Whether the host has other addresses now."""
        if not found or found == self._known.get(host):
            return False
        self._known[host] = found
        return True


def address_of(host: str) -> str | None:
    """None for a name."""
    try:
        return str(ip_address(host))
    except ValueError:
        return None


def _resolved(host: str) -> list[str]:
    """The addresses of a host's name; none for a name without any. Blocking."""
    from socket import getaddrinfo

    try:
        return sorted({str(found[4][0]) for found in getaddrinfo(host, None)})
    except (OSError, UnicodeError):
        return []
