"""The client of a cluster for commands and functions of ours: asks one of its brokers, or any, over one connection to
each that is asked. What it knows of the brokers is the list of their addresses.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.command_config import read_command_config
from kafkastore.interbroker.unreachable import BrokerUnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkastore.errors import KafkastoreError
    from kafkastore.interbroker.command_config import CommandConfig
    from kafkastore.messages import OutgoingRequest

    Address = tuple[str, int]

TIMEOUT_MS: Final = 10_000
"""The timeout of one request."""


class Brokers:
    """See the module. Runs on one loop; its creator closes it."""

    key: ClassVar[str]
    """How the caller was given the addresses."""
    client_id: ClassVar[str]
    error: ClassVar[type[KafkastoreError]]
    """What is raised when no answer comes."""

    def __init__(self, servers: list[Address], command_config: CommandConfig = None) -> None:
        self._dialer = read_command_config(command_config)
        self._servers = servers
        self._clients: dict[Address, BrokerClient] = {}

    async def aclose(self) -> None:
        for client in self._clients.values():
            await client.close()

    def within(self) -> aclosing[Self]:
        """Closes the connections at the end of a ``with``."""
        return aclosing(self)

    def _learn(self, brokers: Iterable[Any]) -> None:
        """Brokers as Metadata names them."""
        self._servers = list(dict.fromkeys([*self._servers, *((one.host, one.port) for one in brokers)]))

    def _connect(self, host: str, port: int) -> BrokerClient:
        return BrokerClient(host, port, self.client_id, dialer=self._dialer)

    async def _send(self, host: str, port: int, request: OutgoingRequest, timeout_ms: int = TIMEOUT_MS) -> Any:
        """The answer of one broker. Raises :attr:`error`."""
        client = self._clients.get((host, port))
        if client is None:
            client = self._clients[host, port] = self._connect(host, port)
        try:
            return await client.send(request, timeout_ms)
        except BrokerUnreachableError as error:
            raise self.error(error.client_message) from None

    async def _ask_any(self, request: OutgoingRequest, timeout_ms: int = TIMEOUT_MS) -> Any:
        """The answer of the first server that gives one, which is asked first the next time. Raises :attr:`error`."""
        failures = []
        for server in list(self._servers):
            try:
                answer = await self._send(*server, request, timeout_ms)
            except self.error as error:
                failures.append(error.client_message)
                continue
            self._servers.remove(server)
            self._servers.insert(0, server)
            return answer
        raise self.error(
            f"{self.key}: no broker answers ({'; '.join(failures)}); name one that runs, and check security.protocol, "
            "sasl.* and ssl.* where it is secured"
        )
