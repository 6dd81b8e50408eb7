"""The client of a cluster for commands and functions of ours: asks one of its brokers, or any, over one connection to
each that is asked. What it knows of the brokers is the list of their addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from kafkastore.errors import ErrorCode, KafkastoreError
from kafkastore.interbroker.client import BrokerClient
from kafkastore.interbroker.command_config import read_command_config
from kafkastore.interbroker.unreachable import BrokerUnreachableError
from kafkastore.messages import OutgoingRequest, request_versions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable

    from kafkastore.interbroker.command_config import CommandConfig

    Address = tuple[str, int]

Fields = Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
"""What a request holds, or what it holds in the version that it is asked in."""

TIMEOUT_MS: Final = 10_000
"""The timeout of one request."""


class UnsupportedApiError(KafkastoreError):
    """A broker is too old, or too new, for a request, or no version of the request has the value."""

    code = ErrorCode.UNSUPPORTED_VERSION


class Brokers:
    """See the module. Runs on one loop; its creator closes it."""

    key: ClassVar[str]
    """How the caller was given the addresses."""
    client_id: str
    error: ClassVar[type[KafkastoreError]]
    """What is raised when no answer comes."""

    def __init__(self, servers: list[Address], command_config: CommandConfig = None) -> None:
        self._dialer = read_command_config(command_config)
        self._servers = servers
        self._clients: dict[Address, BrokerClient] = {}
        self._served: dict[Address, dict[int, tuple[int, int]]] = {}

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
        """The answer of one broker. Raises :attr:`error`, and UnicodeEncodeError for a name that is no UTF-8."""
        client = self._clients.get((host, port))
        if client is None:
            client = self._clients[host, port] = self._connect(host, port)
        try:
            return await client.send(request, timeout_ms)
        except BrokerUnreachableError as error:
            raise self.error(error.client_message) from None

    async def served_by(self, host: str, port: int) -> dict[int, tuple[int, int]]:
        """The versions that a broker serves (KIP-35): the lowest and the highest by API key. Raises :attr:`error`."""
        served = self._served.get((host, port))
        if served is None:  # every broker knows version 0
            answer = await self._send(host, port, OutgoingRequest("ApiVersions", 0, {}))
            served = {one.api_key: (one.min_version, one.max_version) for one in answer.api_keys}
            self._served[host, port] = served
        return served

    async def _ask_broker_at(
        self,
        server: Address,
        api: str,
        fields: Fields,
        *,
        timeout_ms: int = TIMEOUT_MS,
        lowest: int = 0,
        highest: int | None = None,
    ) -> Any:
        """The answer of one broker, in the highest version that both know, from ``lowest`` to ``highest``. Raises
        :attr:`error`, and UnsupportedApiError."""
        low, high = request_versions(api)
        high = high if highest is None else highest
        served = await self.served_by(*server)
        request = OutgoingRequest(api, high, {})
        first, latest = served.get(request.api_key, (0, -1))
        version = min(high, latest)
        if version < max(low, first):
            raise UnsupportedApiError(f"{_text(server)} does not serve {api} in a version that is known here")
        if version < lowest:
            raise UnsupportedApiError(
                f"{_text(server)} serves {api} up to version {version}; what is asked needs version {lowest}"
            )
        held = fields(version) if callable(fields) else fields
        try:
            return await self._send(*server, request._replace(version=version, fields=held), timeout_ms)
        except UnicodeEncodeError:
            raise
        except (ValueError, TypeError) as error:  # the version has no such field, or no such value
            raise UnsupportedApiError(
                f"{_text(server)} cannot be asked this by version {version} of {api}: {error}"
            ) from None

    async def _ask_any(self, request: OutgoingRequest, timeout_ms: int = TIMEOUT_MS) -> Any:
        """The answer of the first server that gives one. Raises :attr:`error`."""
        return await self._first_answer(lambda server: self._send(*server, request, timeout_ms))

    async def _first_answer(self, ask: Callable[[Address], Awaitable[Any]]) -> Any:
        """The answer of the first server that gives one, which is asked first the next time. Raises :attr:`error`."""
        failures = []
        for server in list(self._servers):
            try:
                answer = await ask(server)
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


def _text(server: Address) -> str:
    host, port = server
    return f"{host}:{port}"
