"""The addresses of hosts that settings name: quotas by address, ``max.connections.per.ip.overrides``.

Name servers may be silent, so nothing waits for them but who asks whether a host exists. What they do not answer keeps
the addresses that it had. Addresses are what the data plane takes: without a scope of IPv6 (``fe80::1%eth0``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from contextlib import asynccontextmanager
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from kafkastore.purgatory.hanging_calls import AT_ONCE, HangingCalls

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Container, Sequence

logger = logging.getLogger("kafkastore.dynamic_config.hosts")

LIMIT_S: Final = 5.0
"""How long a host is waited for, as long as a resolver waits for its first name server."""


class Hosts:
    """See the module. One for each purpose. Runs on one loop."""

    def __init__(self) -> None:
        self._checks, self._background = HangingCalls(), HangingCalls()
        self._known: dict[str, list[str]] = {}
        self._asked: Counter[str] = Counter()
        """Names that a check or a look-up is about: they are not forgotten."""
        self._lookups: dict[str, asyncio.Task[None]] = {}

    def addresses(self, host: str) -> list[str]:
        """Of a host's name those that are known; an address has itself."""
        address = address_of(host)
        return [address] if address else [*self._known.get(host, ())]

    @asynccontextmanager
    async def checked(self, hosts: Sequence[str]) -> AsyncIterator[set[str]]:
        """Looks hosts up, some at a time, and gives those without an address; once no name of several is answered, no
        others are asked for. The others are known as long as the block lasts."""
        names = [host for host in hosts if address_of(host) is None]
        self._asked.update(names)
        try:
            is_silent = False
            for at in range(0, len(names), AT_ONCE):
                if not is_silent:
                    is_silent = not any(await asyncio.gather(*map(self._is_answered, names[at : at + AT_ONCE])))
            yield {name for name in names if name not in self._known}
        finally:
            self._asked -= Counter(names)

    def look_up(self, host: str, then: Callable[[], None]) -> None:
        """Looks a host's name up in the background, unless that is under way; calls ``then`` when it has other
        addresses than before."""
        if address_of(host) is not None or host in self._lookups:
            return

        async def note() -> None:
            try:
                is_news = self._note(host, await self._background.call(_resolved, host))
            finally:
                self._asked -= Counter((host,))
                del self._lookups[host]
            if is_news:
                then()
            if host not in self._known:
                logger.warning("%s has no address; what is set for this host is not in force", ascii(host))

        self._asked[host] += 1
        self._lookups[host] = asyncio.get_running_loop().create_task(note())

    def keep(self, hosts: Container[str]) -> None:
        """Forgets all others that nothing is about."""
        self._known = {host: found for host, found in self._known.items() if host in hosts or host in self._asked}

    async def _is_answered(self, host: str) -> bool:
        try:
            async with asyncio.timeout(LIMIT_S):
                found = await self._checks.call(_resolved, host)
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


@lru_cache(maxsize=16_384)
def address_of(host: str) -> str | None:
    """None for a name, and for an address with a scope."""
    try:
        return None if "%" in host else str(ip_address(host))
    except ValueError:
        return None


def _resolved(host: str) -> list[str]:
    """The addresses of a host's name; none for a name without any. Blocking."""
    from socket import getaddrinfo

    try:
        found = {str(one[4][0]).partition("%")[0] for one in getaddrinfo(host, None)}
    except (OSError, UnicodeError, ValueError):  # ValueError: a NUL in the name
        return []
    return sorted(one for one in found if address_of(one) is not None)
